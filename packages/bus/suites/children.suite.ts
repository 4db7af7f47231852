import { type Child, startChild } from '@trunkline/testing';
import { afterEach } from 'vitest';

/** Starts processes that do not outlive the test, also when it fails. */
export function childStarter(): (script: URL, parameters: string[]) => Child {
  const children: Child[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill('SIGKILL')));
  });
  return (script, parameters) => {
    const child = startChild(script, { arguments: parameters });
    children.push(child);
    return child;
  };
}
