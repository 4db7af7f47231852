import { anonymous } from '@trunkline/identity';
import { FakeClock, mountSmallDisk, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { modelEnvironment, startAgent } from '../fixtures/start-agent.ts';
import { createInvoke } from './invoke.ts';
import { LocalBackend } from './local-backend.ts';

const home = temporaryDirectory();
const disk = mountSmallDisk(home.path, 32);
afterAll(() => {
  disk.unmount();
  home.remove();
});

describe.skipIf(disk.leftOut !== undefined)('a one-shot that comes due while the disk is full', () => {
  it('runs once, when there is room again, and a repeated attempt is the same task', async () => {
    const model = await startModelServer({ script: () => 'Done.' });
    const jobs = temporaryDirectory();
    const agent = await startAgent({ home: home.path, env: modelEnvironment(model.url) });
    onTestFinished(async () => {
      await agent.stop();
      await model.stop();
      jobs.remove();
    });
    const warnings: string[] = [];
    const log = (_fields: object, words: string) => void warnings.push(words);
    const logger = { info: log, warn: log };
    const invoke = createInvoke({ agentName: 'ada', url: () => agent.url, timeoutS: 60, logger });
    const clock = new FakeClock('2026-03-01T10:00:00Z');
    const fires: string[] = [];
    const backend = new LocalBackend({
      directory: jobs.path,
      agentName: 'ada',
      clock,
      logger,
      invoke: (job, signal) => {
        fires.push(job.fireId);
        return invoke(job, signal);
      },
    });
    onTestFinished(() => backend.stop());
    backend.start();
    // Long enough to need room of its own.
    const prompt = `Go. ${'x'.repeat(19_000)}`;
    await backend.add({ prompt, when: '2026-03-01T10:01:00Z', jobId: 'once' });

    disk.fill();
    await clock.advanceBy(60_000);
    await waitFor(() => warnings.includes('scheduled job failed'));
    expect(model.chats()).toEqual([]);

    disk.free();
    await clock.advanceBy(60_000);
    await waitFor(async () => (await backend.list()).length === 0);
    expect(fires).toEqual(Array(2).fill('once@2026-03-01T10:01:00.000Z'));
    expect(model.chats()).toHaveLength(1);

    // As after an answer that was lost.
    await invoke(
      { jobId: 'once', prompt, principal: anonymous, fireId: fires[0] ?? '' },
      AbortSignal.timeout(60_000),
    );
    expect(model.chats()).toHaveLength(1);
    const tasks = (await (await agent.fetch('/tasks', { headers: { 'a2a-version': '1.0' } })).json()) as {
      totalSize: number;
    };
    expect(tasks.totalSize).toBe(1);
  });
});
