import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { secondsOf } from './durations.ts';

const ORDER = ['isolated', 'plain', 'browser', 'live'];

/**
 * One kind after the other, so that workers are used again, and the longest files first: begun among the last, one would
 * run on alone. Browsers come after the plain tests: Linux lets their sessions share the processor evenly with the live
 * tests (autogroups), which are over by then, however nice they are.
 */
export default class KindSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kind = ({ project }: TestSpecification) => ORDER.indexOf(project.name);
    const seconds = ({ moduleId }: TestSpecification) => secondsOf(relative(this.ctx.config.root, moduleId));
    return (await super.sort(files)).toSorted(
      (left, right) => kind(left) - kind(right) || seconds(right) - seconds(left),
    );
  }
}
