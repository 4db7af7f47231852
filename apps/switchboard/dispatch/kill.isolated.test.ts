import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Child,
  type ModelServer,
  startChild,
  startModelServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Json } from '../fixtures/start-switchboard.ts';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');

let home: TemporaryDirectory;
let model: ModelServer;
const children: Child[] = [];

beforeEach(async () => {
  home = temporaryDirectory();
  model = await startModelServer({ script: ({ messages }) => `heard: ${messages.at(-1)?.content}` });
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await model.stop();
  home.remove();
});

/** A switchboard in a process of its own; gives its address. */
async function startProcess(): Promise<{ child: Child; url: string }> {
  const child = startChild(launcher, {
    arguments: ['switchboard', '--port', '0'],
    environment: {
      TRUNKLINE_HOME: home.path,
      TRUNKLINE_OPEN: '1',
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      NATS_URL: '',
    },
  });
  children.push(child);
  const line = await child.waitForLine(/http:\/\/127\.0\.0\.1:\d+/, 60_000);
  return { child, url: /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '' };
}

const json = { 'content-type': 'application/json' };
const get = async (url: string): Promise<Json> => (await fetch(url)).json();
const publish = (url: string, correlationId: string) =>
  fetch(`${url}/publish`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({
      topic: 'message.inbound.cli',
      payload: { content: correlationId },
      correlationId,
    }),
  });

it('loses nothing when it is killed in the middle of its work', async () => {
  const first = await startProcess();
  model.enqueue({ fault: 'stall' }, { fault: 'stall' }, { fault: 'stall' });
  const ids = ['one', 'two', 'three'];
  for (const id of ids) expect((await publish(first.url, id)).status).toBe(200);
  await waitFor(() => model.chats().length === 3);
  await first.child.kill();
  const second = await startProcess();
  for (const id of ids) {
    const done = await waitFor(
      async () => (await get(`${second.url}/api/flows/skill-${id}`)).data?.status === 'complete',
      { timeoutMs: 60_000 },
    );
    expect(done).toBe(true);
    const { data } = await get(`${second.url}/api/bus/history?correlationId=${id}`);
    const replies = data.messages.filter(({ message }: Json) => message.topic === 'message.outbound.cli');
    expect(replies.map(({ message }: Json) => message.payload.content)).toEqual([`heard: ${id}`]);
  }
});

it('goes on at the step at which it was killed: no tool runs twice, and no answer of the model is paid twice', async () => {
  const agents = join(home.path, 'switchboard/workspace/agents');
  mkdirSync(agents, { recursive: true });
  const herald =
    'name: herald\nrole: general\nsystemPrompt: You announce.\ntools: [publish_event]\npublishes: [message.outbound.cli]\nskills: [{ name: announce }]';
  writeFileSync(join(agents, 'herald.yaml'), herald);
  const answers: unknown[] = [
    {
      text: 'I tell them.',
      toolCalls: [
        {
          name: 'publish_event',
          arguments: { topic: 'message.outbound.cli', payload: { content: 'hear ye' } },
        },
      ],
    },
    { fault: 'stall' },
    'They know.',
  ];
  for (const answer of answers) model.enqueue(answer as never);
  const first = await startProcess();
  const payload = { skillHint: 'announce', content: 'tell them' };
  const body = JSON.stringify({ topic: 'agent.skill.request', payload, correlationId: 'told' });
  expect((await fetch(`${first.url}/publish`, { method: 'POST', headers: json, body })).status).toBe(200);
  await waitFor(() => model.chats().length === 2, { timeoutMs: 60_000 });
  await first.child.kill('SIGKILL');
  const second = await startProcess();
  await waitFor(async () => (await get(`${second.url}/api/flows/skill-told`)).data?.status === 'complete', {
    timeoutMs: 60_000,
  });
  // The first answer was not asked for again; the one that never came was.
  expect(model.chats().map(({ messages }) => messages.filter(({ role }) => role === 'tool').length)).toEqual([
    0, 1, 1,
  ]);
  const { data } = await get(`${second.url}/api/bus/history?topic=message.outbound.cli`);
  expect(data.messages.map(({ message }: Json) => message.payload.content)).toEqual(['hear ye']);
  const { data: flow } = await get(`${second.url}/api/flows/skill-told`);
  expect(flow.trace.filter(({ event }: Json) => event === 'tool-start')).toHaveLength(1);
});

it('never shows a file of the workspace half written, however often it is killed', async () => {
  const { child, url } = await startProcess();
  const entry = (number: number) => ({
    name: 'cook',
    role: 'general',
    systemPrompt: `Cook ${number}. ${'Well. '.repeat(2000)}`,
  });
  const writes = Array.from({ length: 20 }, (_, number) =>
    fetch(`${url}/api/agents/cook`, {
      method: 'PUT',
      headers: json,
      body: JSON.stringify(entry(number)),
    }).catch(() => undefined),
  );
  await waitFor(async () => (await get(`${url}/api/changes?limit=1`)).data.length > 0);
  await child.kill();
  await Promise.all(writes);
  const second = await startProcess();
  // What was accepted before the end is carried out after it.
  const cook = await waitFor(async () => {
    const { data } = await get(`${second.url}/api/workspace`);
    expect(data.problems).toEqual([]);
    return data.agents.find(({ name }: Json) => name === 'cook');
  });
  expect(cook.systemPrompt).toMatch(/^Cook \d+\. (Well\. )+$/);
  // No part of a file stays behind.
  const left = () => readdirSync(join(home.path, 'switchboard/workspace/agents'));
  await waitFor(() => left().every((name) => !name.endsWith('.tmp')));
});
