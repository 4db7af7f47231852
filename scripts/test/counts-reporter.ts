import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export interface Counts {
  passed: number;
  failed: number;
  skipped: string[];
}

/** Leaves the figures of the run in a file, for the closing line that scripts/test.ts prints. */
export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts: Counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) countModule(module, counts);
    const file = process.env.TRUNKLINE_TEST_COUNTS;
    if (file) writeFileSync(file, JSON.stringify(counts));
  }
}

// A file that could not be loaded, and a hook that failed, count as one failure each.
function countModule(module: TestModule, counts: Counts): void {
  counts.failed += module.errors().length;
  for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === 'passed') counts.passed += 1;
    else if (state === 'failed') counts.failed += 1;
    else counts.skipped.push(`${module.relativeModuleId} > ${test.fullName}`);
  }
}
