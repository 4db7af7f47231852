import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { startChild, temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { json } from '../voice.suite.ts';
import { dial } from './caller.suite.ts';

describe('the WebRTC library', () => {
  it('lets a process that has stopped its service end by itself, without a crash', async () => {
    const { path, remove } = temporaryDirectory();
    onTestFinished(remove);
    const child = startChild(new URL('./fixtures/service.ts', import.meta.url), { arguments: [path] });
    onTestFinished(() => void child.kill());
    const url = (await child.waitForLine('url ')).slice('url '.length);
    const caller = await dial(clientOf(url));
    await child.waitForLine('connected');
    await caller.channel();
    child.write('stop\n');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.output()).toContain('stopped');
  });

  it('is not loaded in a worker thread, where it would end the process', async () => {
    const worker = new Worker(new URL('./fixtures/worker.ts', import.meta.url));
    const [words] = await once(worker, 'message');
    expect(words).toMatch(/@roamhq\/wrtc.*only in the main thread/);
    await worker.terminate();
  });
});

function clientOf(url: string) {
  const ask = (method: string) => async (path: string, body: unknown) => {
    const response = await fetch(url + path, { ...json(body), method });
    return { status: response.status, body: await response.json(), headers: response.headers };
  };
  return { post: ask('POST'), patch: ask('PATCH') };
}
