import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@trunkline/config';
import { freePort, waitFor } from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, afterEach, expect, it } from 'vitest';
import { type Door, type DoorOptions, openDoor, proofOf } from './door.ts';

const key = 'the-key-of-the-model';
const lines: string[] = [];
const logger = createLogger({ name: 'test', destination: { write: (line) => lines.push(line) } });
const opened: { stop(): Promise<void> }[] = [];
afterEach(() => void lines.splice(0));
afterAll(async () => {
  await Promise.all(opened.map((each) => each.stop()));
});

/** A door before a model that answers with its own name. */
async function open(
  name: string,
  port: number,
  asked: object[] = [],
  load: () => void = () => undefined,
): Promise<Door> {
  const process: DoorOptions['process'] = {
    state: 'ready',
    facts: { architecture: 'toy', trainedTokens: 512, bytes: 1, contextTokens: 512, sequences: 1 },
    load,
    ready: async () => undefined,
    async *ask(request) {
      asked.push(request);
      yield { type: 'text-delta', text: `Here is ${name}.` };
      yield { type: 'end', finishReason: 'stop' };
    },
  };
  const door = await openDoor({ model: 'toy', port, key, process, logger });
  opened.push(door);
  return door;
}

async function ask({ url }: Door, more: object = {}): Promise<string | null | undefined> {
  const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'the secret words' }];
  const { choices } = await client.chat.completions.create({ model: 'toy', messages, ...more });
  return choices[0]?.message.content;
}

it('passes requests on to the service that has the model, and takes its place when it ends', async () => {
  const port = await freePort();
  const first = await open('the first', port);
  const second = await open('the second', port);
  expect(first.url).toBe(`http://127.0.0.1:${port}/v1`);
  expect([second.isOwn(), await ask(second)]).toEqual([false, 'Here is the first.']);
  const client = new OpenAI({ baseURL: second.url, apiKey: key });
  const stream = await client.chat.completions.create({
    model: 'toy',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
  });
  let streamed = '';
  for await (const { choices } of stream) streamed += choices[0]?.delta.content ?? '';
  expect(streamed).toBe('Here is the first.');
  await expect(ask(second, { logit_bias: { '1': 1 } })).rejects.toThrow(/400 logit_bias is not supported/);
  await first.stop();
  expect([await ask(second), second.isOwn()]).toEqual(['Here is the second.', true]);
  expect(await ask(first)).toBe('Here is the second.');
});

it('gives neither key nor words to a stranger who takes the port afterwards', async () => {
  let isStranger = false;
  const got: string[] = [];
  const other = createServer((request, response) => {
    const challenge = request.url?.split('/').at(-1) ?? '';
    got.push(JSON.stringify([request.url, request.headers]));
    request.on('data', (chunk) => got.push(String(chunk)));
    response.end(proofOf(isStranger ? 'another-key' : key, challenge));
  }).listen(0, '127.0.0.1');
  await waitFor(() => other.listening);
  const door = await open('the second', (other.address() as AddressInfo).port);
  isStranger = true;
  expect(await ask(door)).toBe('Here is the second.');
  expect(got.length).toBeGreaterThan(1);
  expect(got.join('')).not.toMatch(/the-key-of-the-model|the secret words/);
  expect(lines.join('')).toContain('another program took the port of the model file (LLM_GGUF_PORT)');
  other.close();
});

it('answers its services however many wrong keys others try', async () => {
  const door = await open('the model', 0);
  const tries = Array.from({ length: 120 }, (_, index) =>
    fetch(`${door.url}/models`, { headers: { authorization: `Bearer wrong-${index}` } }),
  );
  expect(new Set((await Promise.all(tries)).map(({ status }) => status))).toEqual(new Set([401]));
  expect(await ask(door)).toBe('Here is the model.');
});

it('hands on every parameter that the engine heeds, and refuses the others by name', async () => {
  const asked: object[] = [];
  const door = await open('the model', 0, asked);
  const given = {
    ...{ temperature: 0.1, top_p: 0.9, max_completion_tokens: 9, stop: ['END'], seed: 7 },
    ...{ frequency_penalty: 0.5, presence_penalty: -0.5, parallel_tool_calls: false },
  };
  const client = new OpenAI({ baseURL: door.url, apiKey: key, maxRetries: 0 });
  const body = { model: 'toy', messages: [{ role: 'user' as const, content: 'Hi' }], ...given };
  const { response } = await client.chat.completions.create(body).withResponse();
  expect(response.headers.get('x-ignored-parameters')).toBeNull();
  expect(asked).toEqual([expect.objectContaining(given)]);
  for (const [name, value] of Object.entries({ reasoning_effort: 'low', verbosity: 'low', logprobs: true }))
    await expect(ask(door, { [name]: value })).rejects.toMatchObject({ status: 400, param: name });
});

it('begins to load when a service looks for its models, and only once', async () => {
  const loads: number[] = [];
  const door = await open('the model', 0, [], () => void loads.push(1));
  const client = new OpenAI({ baseURL: door.url, apiKey: key });
  expect(loads).toEqual([]);
  for (let look = 0; look < 2; look += 1) expect((await client.models.list()).data[0]?.id).toBe('toy');
  expect(loads).toEqual([1]);
});
