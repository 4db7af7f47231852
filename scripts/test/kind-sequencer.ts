import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ORDER = ['isolated', 'browser', 'plain', 'live'];

/**
 * One kind after the other, so that workers are used again. Isolated tests come first, beside the live ones: they mostly
 * wait. Browsers come later: Linux lets their sessions share the processor evenly with the live tests (autogroups),
 * however nice they are. The plain ones are last: they are so short that all workers end together.
 */
export default class KindSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project }: TestSpecification) => ORDER.indexOf(project.name);
    return (await super.sort(files)).toSorted((left, right) => place(left) - place(right));
  }
}
