import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSse } from '@trunkline/http';
import { waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  journalled,
  type ProcessSwitchboard,
  processHome,
  waitForFire,
} from '../fixtures/process-switchboard.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

/** On the real clock, in real processes that are really killed. */
let home: ReturnType<typeof processHome>;

beforeEach(() => {
  home = processHome({ TZ: 'America/New_York' });
  home.write(
    'agents/helm.yaml',
    'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n',
  );
});
afterEach(() => home.remove());

const soon = (ms: number) => new Date(Date.now() + ms).toISOString();
const record = (id: string, schedule: string, more: object = {}) => ({
  id,
  schedule,
  topic: `cron.${id}`,
  payload: { content: 'Ping' },
  ...more,
});
const file = (id: string) => join(home.workspace, 'crons', `${id}.yaml`);
const sorted = (values: string[]) => values.toSorted();

/** Resolves with the first message of a topic as it happens. */
async function firstLive(board: ProcessSwitchboard, topic: string): Promise<() => Promise<void>> {
  const response = await fetch(`${board.url}/api/bus/stream?topic=${encodeURIComponent(topic)}`);
  const events = readSse(response.body as ReadableStream<Uint8Array>);
  return async () => {
    for await (const { data } of events) if (data.includes('"topic"')) return;
  };
}

describe('kill -9', () => {
  it('at the moment of firing: everything fires once, and is noted once', async () => {
    const first = await home.start();
    const at = soon(3000);
    const ids = Array.from({ length: 40 }, (_, number) => `job-${number}`);
    await Promise.all(ids.map((id) => first.call('/api/schedules', record(id, at))));
    const fired = await firstLive(first, 'cron.#');
    await fired();
    await first.child.kill('SIGKILL');
    const second = await home.start();
    await waitFor(async () => (await second.call('/api/schedules')).body.data.count === 0, {
      timeoutMs: 30_000,
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

  it('right after a command: what was answered stands', async () => {
    const first = await home.start();
    expect((await first.call('/api/schedules', record('kept', '0 9 * * *'))).status).toBe(201);
    await first.child.kill('SIGKILL');
    const second = await home.start();
    expect((await second.call('/api/schedules/kept')).body.data.schedule.state).toBe('active');
    await second.call('/api/schedules/kept/pause', {});
    await second.child.kill('SIGKILL');
    const third = await home.start();
    expect((await third.call('/api/schedules/kept')).body.data.schedule.state).toBe('paused');
  });
});

describe('on the real clock', () => {
  it('missed fires, zones, pauses, jitter and far times hold over restarts [S010][S069]', async () => {
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const text = (id: string, schedule: string, more: string) =>
      `id: ${id}\nschedule: "${schedule}"\ntopic: cron.${id}\npayload: { content: Ping }\n${more}`;
    home.write('crons/hourly.yaml', text('hourly', '0 * * * *', `lastFired: ${hoursAgo(3)}\n`));
    home.write('crons/late.yaml', text('late', hoursAgo(2), ''));
    home.write('crons/too-late.yaml', text('too-late', hoursAgo(30), ''));
    home.write('crons/new-york.yaml', text('new-york', '30 2 * * *', ''));
    home.write('crons/far.yaml', text('far', soon(40 * 86_400_000), ''));
    const first = await home.start();
    await waitForFire(first, 'hourly', 'done');
    await waitForFire(first, 'late', 'done');
    await waitForFire(first, 'too-late', 'missed');
    const view = (await first.call('/api/schedules/new-york')).body.data.schedule;
    expect(view.timezone).toBe('America/New_York');
    expect(hourIn('America/New_York', view.next[0])).toBe('02:30');
    await first.call('/api/schedules', record('pausing', soon(700)));
    await first.call('/api/schedules/pausing/pause', {});
    await first.call('/api/schedules', record('jittery', soon(300), { jitterMs: 900 }));
    await waitForFire(first, 'jittery', 'done');
    await waitFor(() =>
      readFileSync(file('hourly'), 'utf8').includes(`lastFired: ${hoursAgo(0).slice(0, 13)}`),
    );
    await first.child.kill('SIGTERM');
    const second = await home.start();
    expect((await second.call('/api/schedules/pausing')).body.data.history).toEqual([]);
    await second.call('/api/schedules/pausing/resume', {});
    await waitForFire(second, 'pausing', 'done');
    const fires = await journalled(second, 'cron.#');
    expect(sorted(fires.map(({ topic }: Json) => topic))).toEqual([
      'cron.hourly',
      'cron.jittery',
      'cron.late',
      'cron.pausing',
    ]);
    const [jittery] = (await second.call('/api/schedules/jittery')).body.data.history;
    expect(jittery.firedAt).toBeGreaterThanOrEqual(jittery.scheduledAt);
    expect((await second.call('/api/schedules/far')).body.data.history).toEqual([]);
  });

  it('a process that slept past a time fires it once when it wakes', async () => {
    const board = await home.start();
    await board.call('/api/schedules', record('sleeper', soon(1000)));
    process.kill(board.child.pid, 'SIGSTOP');
    await waitFor(() => existsSync(file('sleeper')));
    await new Promise((resolve) => setTimeout(resolve, 2500));
    process.kill(board.child.pid, 'SIGCONT');
    await waitForFire(board, 'sleeper', 'done');
    expect(await journalled(board, 'cron.sleeper')).toHaveLength(1);
  });
});

function hourIn(timeZone: string, time: string): string {
  const options = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en-GB', options).format(new Date(time));
}
