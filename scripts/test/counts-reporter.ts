import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

export interface Counts {
  passed: number;
  failed: number;
  skipped: string[];
  /** What failed, each with the first line of its error. */
  failures: string[];
  /** How long each file took. */
  seconds: Record<string, number>;
}

/** Says at once why a test failed, and leaves the figures of the run in a file, for the closing line that scripts/test.ts prints. */
export default class CountsReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  /** A run that is ended from outside would never tell. */
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state === 'failed')
      this.#vitest?.logger.error(`Failed: ${nameOf(test.module, test)}: ${firstLine(errors?.[0])}`);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const failures = unhandledErrors.map((error) => `outside of a test: ${firstLine(error)}`);
    const counts: Counts = { passed: 0, failed: unhandledErrors.length, skipped: [], failures, seconds: {} };
    for (const module of modules) countModule(module, counts);
    const file = process.env.TRUNKLINE_TEST_COUNTS;
    if (file) writeFileSync(file, JSON.stringify(counts));
  }
}

function nameOf(module: TestModule, { fullName }: { fullName: string }): string {
  return `${module.relativeModuleId} > ${fullName}`;
}

// A file that could not be loaded, and a hook that failed, count as one failure each.
function countModule(module: TestModule, counts: Counts): void {
  const fail = (name: string, [error]: readonly unknown[]) => {
    counts.failed += 1;
    counts.failures.push(`${name}: ${firstLine(error)}`);
  };
  const name = module.relativeModuleId;
  counts.seconds[name] = module.diagnostic().duration / 1000;
  for (const error of module.errors()) fail(name, [error]);
  for (const suite of module.children.allSuites())
    for (const error of suite.errors()) fail(nameOf(module, suite), [error]);
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    const title = nameOf(module, test);
    if (state === 'passed') counts.passed += 1;
    else if (state === 'failed') fail(title, errors ?? []);
    else if (state === 'pending') fail(title, ['did not run: its process ended before']);
    else counts.skipped.push(title);
  }
}

/**
 * Of the error and of what caused it: only that tells how a process of the tests ended. Of Playwright's call log, which
 * stands below, what it waited for, and the last thing it saw.
 */
export function firstLine(error: unknown): string {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: unknown };
  const [line = '', ...rest] = stripVTControlCharacters(String(message ?? error)).split('\n');
  const log = rest.slice(rest.indexOf('Call log:') + 1).map((entry) => entry.replace(/^[\s-]+/, ''));
  const calls = rest.includes('Call log:') ? log.filter((entry) => entry !== '') : [];
  const seen = [...new Set([calls[0], calls.at(-1)])].filter((entry) => entry !== undefined);
  const words = [line, ...seen].join(' ← ');
  return cause === undefined || cause === null ? words : `${words} (${firstLine(cause)})`;
}
