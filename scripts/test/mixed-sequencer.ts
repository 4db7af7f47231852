import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Browser tests, which keep the processor busy, run beside isolated tests, which mostly wait. The plain ones follow: they
 * are so short that all workers end together. The browsers come late: Linux lets their sessions share the processor
 * evenly with the live tests (autogroups), however nice they are.
 */
export default class MixedSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const {
      browser = [],
      isolated = [],
      ...others
    } = Object.groupBy(await super.sort(files), ({ project }) => project.name);
    const alone = Math.max(0, isolated.length - browser.length);
    return [
      ...isolated.slice(0, alone),
      ...alternating(browser, isolated.slice(alone)),
      ...Object.values(others).flatMap((specs) => specs ?? []),
    ];
  }
}

function alternating<Item>(some: Item[], others: Item[]): Item[] {
  const pairs = Array.from({ length: Math.max(some.length, others.length) }, (_, index) => [
    ...some.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]);
  return pairs.flat();
}
