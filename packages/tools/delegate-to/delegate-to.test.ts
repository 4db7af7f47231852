import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, startModelServer } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callTool } from '../call-tool.suite.ts';
import { createCompatDelegate } from './compat-delegate.ts';
import { createDelegateTo, type Delegate, DelegateError } from './delegate-to.ts';

const delegate = (name: string, ask: Delegate['ask']): Delegate => ({
  name,
  description: `does ${name}`,
  ask,
});
const echo = delegate('echo', async (query, { sessionId }) => `${sessionId}: ${query}`);

describe('delegate_to', () => {
  it('offers each target by name with what it is good for [A093]', () => {
    const tool = createDelegateTo({ delegates: [echo, delegate('coder', async () => '')] });
    const schema = z.toJSONSchema(tool.input);
    expect(schema.required).toEqual(['target', 'query']);
    expect(schema.properties).toMatchObject({
      target: { type: 'string', enum: ['echo', 'coder'] },
      query: { type: 'string' },
    });
    expect(tool.description).toContain('- echo: does echo\n- coder: does coder');
  });

  it('is known again by its key where all targets know it, and never by its nature', () => {
    const ours = { ...echo, idempotent: true };
    expect(createDelegateTo({ delegates: [ours] })).toMatchObject({ idempotent: 'by-key' });
    const other = delegate('coder', async () => '');
    expect(createDelegateTo({ delegates: [ours, other] })).toMatchObject({ idempotent: false });
  });

  it('gives the answer of the target', async () => {
    const tool = createDelegateTo({ delegates: [echo] });
    expect(await callTool(tool, { target: 'echo', query: 'hello' })).toBe('session: hello');
  });

  it('refuses an unknown target and an empty task', async () => {
    const tool = createDelegateTo({ delegates: [echo] });
    await expect(callTool(tool, { target: 'nobody', query: 'x' })).rejects.toThrow(z.ZodError);
    expect(await callTool(tool, { target: 'echo', query: ' ' })).toBe('Error: say what echo is to do.');
  });

  it('turns failures into words that can be spoken', async () => {
    const failing = delegate('mute', async () => {
      throw new DelegateError('delegate_unreachable', 'mute cannot be reached right now.');
    });
    const tool = createDelegateTo({ delegates: [failing, delegate('blank', async () => ' \n')] });
    expect(await callTool(tool, { target: 'mute', query: 'x' })).toBe(
      'Error: mute cannot be reached right now.',
    );
    expect(await callTool(tool, { target: 'blank', query: 'x' })).toBe('Error: blank gave an empty answer.');
  });

  it('stops waiting at its time limit, and with the turn', async () => {
    const hanging = delegate(
      'slow',
      (_query, { signal }) =>
        new Promise((_resolve, reject) => {
          if (signal.aborted) reject(signal.reason);
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    const short = createDelegateTo({ delegates: [hanging], timeoutMs: 50 });
    expect(await callTool(short, { target: 'slow', query: 'x' })).toBe(
      'Error: slow did not answer within 0.05 seconds.',
    );
    const patient = createDelegateTo({ delegates: [{ ...hanging, timeoutMs: 80 }, echo], timeoutMs: 20 });
    expect(await callTool(patient, { target: 'slow', query: 'x' })).toBe(
      'Error: slow did not answer within 0.08 seconds.',
    );
    expect(patient).toMatchObject({ timeoutMs: 5080 });
    const stop = new AbortController();
    const call = callTool(
      createDelegateTo({ delegates: [hanging] }),
      { target: 'slow', query: 'x' },
      stop.signal,
    );
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it('waits on while the target shows that it works, and the turn with it', async () => {
    const steady = delegate('steady', async (_query, { signal, onActivity }) => {
      onActivity?.(60_000);
      await delay(200, undefined, { signal });
      return 'done at last';
    });
    const told: number[] = [];
    const tool = createDelegateTo({ delegates: [steady], timeoutMs: 50 });
    const onActivity = (silentMs: number) => void told.push(silentMs);
    const asked = { target: 'steady', query: 'x' };
    expect(await callTool(tool, asked, undefined, { onActivity })).toBe('done at last');
    expect(told).toEqual([60_000]);
  });
});

describe('a delegate behind an OpenAI-compatible endpoint', () => {
  const options = { name: 'helper', description: 'helps', model: 'small' };
  const context = { signal: new AbortController().signal, sessionId: 's' };

  it('sends the query with its key and instructions [A093]', async () => {
    const server = await startModelServer({ script: ['the answer'], apiKey: 'k1' });
    const helper = createCompatDelegate({
      ...options,
      url: server.url,
      apiKey: 'k1',
      instructions: 'be brief',
    });
    expect(await helper.ask('do it', context)).toBe('the answer');
    expect(server.chats()).toEqual([
      {
        model: 'small',
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: 'do it' },
        ],
      },
    ]);
    await server.stop();
  });

  it.each([
    [{ fault: 'status', status: 401 } as const, 'helper refuses the key it was given.'],
    [{ fault: 'status', status: 429 } as const, 'helper is busy. Try again in a while.'],
    [{ fault: 'status', status: 500 } as const, 'helper failed to answer.'],
    [{ fault: 'malformed' } as const, 'helper gave an answer that cannot be read.'],
    [{ fault: 'cut' } as const, 'helper cannot be reached right now.'],
  ])('says what went wrong: %j', async (reply, words) => {
    const server = await startModelServer({ script: [reply] });
    const helper = createCompatDelegate({ ...options, url: server.url });
    await expect(helper.ask('x', context)).rejects.toThrow(words);
    await server.stop();
  });

  it('sends its key, by which an endpoint does the work once though the answer was lost', async () => {
    const done = new Map<string, string>();
    const server = createServer((request, response) => {
      const key = String(request.headers['idempotency-key']);
      const known = done.get(key);
      if (known !== undefined) {
        response.end(JSON.stringify({ choices: [{ message: { content: known } }] }));
        return;
      }
      done.set(key, `work ${done.size + 1}`);
      request.socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const helper = createCompatDelegate({ ...options, url: `http://127.0.0.1:${port}/v1` });
    const ask = (idempotencyKey: string) => helper.ask('send it', { ...context, idempotencyKey });
    for (const [key, work] of [
      ['step-1', 'work 1'],
      ['step-2', 'work 2'],
    ] as const) {
      await expect(ask(key)).rejects.toThrow('helper cannot be reached right now.');
      expect(await ask(key)).toBe(work);
    }
    expect([...done.keys()]).toEqual(['step-1', 'step-2']);
    await new Promise((resolve) => server.close(resolve));
  });

  it('says that nobody is there', async () => {
    const helper = createCompatDelegate({ ...options, url: `http://127.0.0.1:${await freePort()}/v1` });
    await expect(helper.ask('x', context)).rejects.toThrow('helper cannot be reached right now.');
  });
});
