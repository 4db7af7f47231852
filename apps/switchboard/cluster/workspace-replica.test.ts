import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { WorkspaceReplica } from './workspace-replica.ts';

it('takes an edit that the journal holds already, the first thing that a switchboard reads', async () => {
  const home = temporaryDirectory();
  const problems: unknown[] = [];
  const text = 'keys: []\n';
  const entry = { kind: 'file', name: 'keys.yaml', file: 'keys.yaml', text, by: 'x' };
  const bus = {
    status: () => ({ engine: 'nats' }),
    publish: async () => undefined,
    subscribe: async (_: string, handle: (message: unknown) => Promise<void>) => {
      await handle({ payload: { origin: 'other', entry } });
      return { unsubscribe: async () => undefined };
    },
  };
  const workspace = { directory: home.path, onChange: () => () => undefined };
  const logger = { error: (problem: unknown) => problems.push(problem) };
  const controlPlane = { onWrite: () => () => undefined };
  const replica = new WorkspaceReplica({} as never);
  await replica.start({ bus, workspace, logger, controlPlane, home: home.path } as never);
  expect(readFileSync(join(home.path, 'keys.yaml'), 'utf8')).toBe(text);
  expect(problems).toEqual([]);
  await replica.stop();
  home.remove();
});
