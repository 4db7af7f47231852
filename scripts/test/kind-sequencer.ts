import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ORDER = ['isolated', 'plain', 'browser', 'live'];
/** Takes three times as long as any other browser test: begun among the last, it would run on alone. */
const LONGEST = 'apps/trunkline/pages/pages.browser.test.ts';

/**
 * One kind after the other, so that workers are used again. Browsers come after the plain tests: Linux lets their sessions
 * share the processor evenly with the live tests (autogroups), which are over by then, however nice they are.
 */
export default class KindSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project, moduleId }: TestSpecification) =>
      2 * ORDER.indexOf(project.name) - Number(moduleId.endsWith(LONGEST));
    return (await super.sort(files)).toSorted((left, right) => place(left) - place(right));
  }
}
