import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstLive, journalled, processHome, waitForFire } from '../fixtures/process-switchboard.ts';

/** On the real clock, in real processes that are really killed. */
let home: ReturnType<typeof processHome>;

beforeEach(() => {
  home = processHome();
  home.write(
    'agents/helm.yaml',
    'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n',
  );
});
afterEach(() => home.remove());

const soon = (ms: number) => new Date(Date.now() + ms).toISOString();
const record = (id: string, schedule: string) => ({
  id,
  schedule,
  topic: `cron.${id}`,
  payload: { content: 'Ping' },
});
const file = (id: string) => join(home.workspace, 'crons', `${id}.yaml`);
const sorted = (values: string[]) => values.toSorted();

describe('kill -9', () => {
  it('at the moment of firing: everything fires once, and is noted once', async () => {
    const first = await home.start();
    const fired = await firstLive(first, 'cron.#');
    const at = soon(10_000);
    const ids = Array.from({ length: 40 }, (_, number) => `job-${number}`);
    const added = await Promise.all(ids.map((id) => first.call('/api/schedules', record(id, at))));
    expect(added.map(({ status }) => status)).toEqual(ids.map(() => 201));
    await fired();
    await first.child.kill('SIGKILL');
    const second = await home.start();
    await waitFor(async () => (await second.call('/api/schedules')).body.data.count === 0, {
      timeoutMs: 90_000,
    });
    const messages = await journalled(second, 'cron.#');
    expect(sorted(messages.map(({ topic }) => topic))).toEqual(sorted(ids.map((id) => `cron.${id}`)));
    for (const id of ids) {
      const row = await waitForFire(second, id, 'done');
      const { body } = await second.call(`/api/schedules/${id}`);
      expect([body.data.history.length, row.fireId]).toEqual([1, `${id}@${at}`]);
      expect(existsSync(file(id))).toBe(false);
    }
    const answers = await journalled(second, 'message.outbound.cli');
    expect(sorted(answers.map(({ correlationId }) => correlationId))).toEqual(
      sorted(ids.map((id) => `${id}@${at}`)),
    );
  });
});

describe('on the real clock', () => {
  it('a process that slept past a time fires it once when it wakes', async () => {
    const board = await home.start();
    const at = soon(1000);
    await board.call('/api/schedules', record('sleeper', at));
    process.kill(board.child.pid, 'SIGSTOP');
    await waitFor(() => soon(-1500) > at);
    process.kill(board.child.pid, 'SIGCONT');
    await waitForFire(board, 'sleeper', 'done');
    expect(await journalled(board, 'cron.sleeper')).toHaveLength(1);
  });
});
