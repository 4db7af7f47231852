import { type Child, conformanceTarget, startChild } from '@trunkline/testing';
import { afterAll, beforeAll } from 'vitest';

export interface Target {
  /** Without a slash at the end. */
  url: string;
}

/** The conformance target as a process of its own, for one test file. */
export function targetOfThisFile(): Target {
  let child: Child;
  const target: Target = { url: '' };
  beforeAll(async () => {
    child = startChild(conformanceTarget, { arguments: ['--port', '0'] });
    const line = await child.waitForLine('conformance target: ');
    target.url = /http:\/\/[^,]+/.exec(line)?.[0] ?? '';
  });
  afterAll(async () => {
    await child.kill('SIGTERM');
  });
  return target;
}
