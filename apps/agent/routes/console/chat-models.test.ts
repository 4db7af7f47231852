import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodePrincipal, operatorAccess, type Principal, principalHeader } from '@trunkline/identity';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatTurn } from '../../chats/transcript.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from '../../fixtures/start-agent.ts';
import type { ChatModels } from './chat-models.ts';

const serviceToken = 'the-service-token';
const home = temporaryDirectory();
let model: ModelServer;
let elsewhere: ModelServer;
let agent: TestAgent;
const config = (choices: string) => `knowledge: { embeddings: "off" }\nmodel: { choices: [${choices}] }\n`;
beforeAll(async () => {
  model = await startModelServer({
    models: ['test-model', 'large-model', 'nomic-embed-text'],
    script: () => 'Here.',
  });
  elsewhere = await startModelServer({ models: ['small-model'], script: () => 'From elsewhere.' });
  const helper = `{ model: small-model, url: ${elsewhere.url} }`;
  writeFileSync(join(home.path, 'models.yaml'), `roles: { helper: ${helper} }\n`);
  agent = await startAgent({
    home: home.path,
    env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0', QUOTA_MB: '1' },
    config: config('fine-model, helper'),
    serviceToken,
  });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
  await elsewhere.stop();
  home.remove();
});

const ava = { kind: 'person', id: 'voice:ava', via: ['voice'], role: 'member' } as const;
const eve = { kind: 'person', id: 'mail:eve@example.com', via: ['switchboard'], role: 'member' } as const;
const handed = (principal: Principal) => ({
  authorization: `Bearer ${serviceToken}`,
  [principalHeader]: encodePrincipal(principal),
});
const callers = {
  ava: () => handed(ava),
  eve: () => handed(eve),
  operator: () => ({
    authorization: `Bearer ${readFileSync(operatorAccess(agent.home).keyFile, 'utf8').trim()}`,
  }),
};
type Who = keyof typeof callers;
const ask = async <Body>(who: Who, method: string, path: string, body?: object) => {
  const init = body === undefined ? {} : post(body);
  const headers = { ...init.headers, ...callers[who]() };
  const response = await agent.fetch(path, { ...init, method, headers });
  return { status: response.status, ...((await response.json()) as Body) };
};
const offered = (who: Who) => ask<ChatModels>(who, 'GET', '/api/chat/models');
const choose = async (who: Who, chosen: string | null, session: string = who) =>
  (await ask(who, 'PUT', `/api/chat/sessions/${session}/model`, { model: chosen })).status;
const say = async (who: Who, text: string, session: string = who) => {
  const path = `/api/chat/sessions/${session}`;
  const { task_id } = await ask<{ task_id: string }>(who, 'POST', `${path}/messages`, { text });
  return await waitFor(async () => {
    const { turns } = await ask<{ turns: ChatTurn[] }>(who, 'GET', path);
    const turn = turns.find((each) => each.task_id === task_id);
    return turn?.state === 'completed' || turn?.state === 'failed' ? turn : undefined;
  });
};

it('offers the operator all that can talk, others what the operator lists', async () => {
  const helper = { id: 'helper', name: 'small-model', role: 'helper' };
  const fine = { id: 'fine-model', name: 'fine-model' };
  expect(await offered('operator')).toMatchObject({
    standard: 'test-model',
    models: [helper, fine, { id: 'large-model', name: 'large-model' }],
    problem: null,
  });
  expect((await offered('ava')).models).toEqual([helper, fine]);
  expect(await choose('ava', 'large-model')).toBe(404);
  expect(await choose('ava', 'fine-model', 'system:activity')).toBe(403);
  expect(await choose('operator', 'no-such-model')).toBe(404);
});

it('answers with the chosen model, in branches too, until the standard one is chosen again', async () => {
  expect(await choose('operator', 'large-model')).toBe(200);
  const turn = await say('operator', 'Hi');
  expect(model.chats().at(-1)?.model).toBe('large-model');
  const before = model.chats().length;
  await ask('operator', 'POST', '/api/chat/sessions/operator/branches', { task_id: turn?.task_id });
  await waitFor(async () => model.chats().length > before);
  expect(model.chats().at(-1)?.model).toBe('large-model');
  expect(await ask('operator', 'GET', '/api/chat/sessions/operator')).toMatchObject({ model: 'large-model' });
  await choose('operator', null);
  await say('operator', 'Bye');
  expect(model.chats().at(-1)?.model).toBe('test-model');
});

it('gives others what the operator chose in their own chat, and not in one that people share', async () => {
  const used = async (who: Who) => {
    await say(who, 'Hi');
    await choose('operator', 'large-model', who);
    await say(who, 'Hi again');
    return model.chats().at(-1)?.model;
  };
  expect(await used('ava')).toBe('large-model');
  expect(await used('eve')).toBe('test-model');
  await say('operator', 'Hi', 'eve');
  expect(model.chats().at(-1)?.model).toBe('large-model');
});

it('keeps no choice of the standard model, and choices within the quota', async () => {
  expect(await choose('ava', null, 'new')).toBe(200);
  // A chat that ava had claimed would be refused to eve.
  expect(await choose('eve', 'fine-model', 'new')).toBe(200);
  const keep = (length: number) =>
    ask('eve', 'POST', '/api/beads/issues', { title: 'Full', description: 'x'.repeat(length) });
  for (const length of [100_000, 1000]) while ((await keep(length)).status < 300);
  const last = ['first', 'second', 'third'].map((id) => choose('eve', 'fine-model', id + 'x'.repeat(490)));
  expect(await Promise.all(last)).toContain(507);
});

it('reaches a role at its own endpoint', async () => {
  expect(await choose('ava', 'helper')).toBe(200);
  expect((await say('ava', 'Hi'))?.entries.at(-1)).toMatchObject({ text: 'From elsewhere.' });
  expect(elsewhere.chats().at(-1)?.model).toBe('small-model');
});

const runSchedule = async () =>
  expect((await ask('ava', 'POST', '/api/scheduler/jobs/stretch/run', {})).status).toBe(200);

it('runs schedules that were made in a chat with its model', async () => {
  const job = { prompt: 'Stretch', when: '0 9 * * *', job_id: 'stretch', session_id: 'ava' };
  expect((await ask('ava', 'POST', '/api/scheduler/jobs', job)).status).toBe(200);
  const before = elsewhere.chats().length;
  await runSchedule();
  await waitFor(() => elsewhere.chats().length > before);
  expect(elsewhere.chats().at(-1)?.model).toBe('small-model');
});

it('tells that a chosen model is no longer offered, and goes on with another', async () => {
  const { text } = await ask<{ text: string }>('operator', 'GET', '/api/config');
  expect(text).toContain('fine-model, helper');
  expect((await ask('operator', 'PUT', '/api/config', { text: config('fine-model') })).status).toBe(200);
  const failed = await waitFor(async () => {
    const turn = await say('ava', 'Still there?');
    return turn?.state === 'failed' ? turn : undefined;
  });
  expect(failed?.entries.at(-1)).toMatchObject({
    kind: 'note',
    text: 'The model helper, which was chosen for this chat, is no longer offered. Choose another beside the message box, then retry.',
  });
  // Nobody is there to choose another.
  const before = model.chats().length;
  await runSchedule();
  await waitFor(() => model.chats().length > before);
  expect(model.chats().at(-1)?.model).toBe('test-model');
  expect(await choose('ava', 'fine-model')).toBe(200);
  await ask('ava', 'POST', '/api/chat/sessions/ava/branches', { task_id: failed?.task_id });
  await waitFor(async () => model.chats().at(-1)?.model === 'fine-model');
});

it('says why the list of the endpoint cannot be read, and still offers what is listed', async () => {
  await model.stop();
  const { models, problem } = await offered('operator');
  expect(problem).toMatch(/^Cannot reach the model at .*LLM_GATEWAY_URL/);
  expect(models.map(({ id }) => id)).toContain('fine-model');
});
