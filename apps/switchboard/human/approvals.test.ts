import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  FakeGuild,
  type ModelServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const botId = '600000000000000001';
const [stranger, approver, mate] = ['500000000000000001', '500000000000000002', '500000000000000005'];
const directory = temporaryDirectory();
let [guild, model, board] = [] as unknown as [FakeGuild, ModelServer, TestSwitchboard];
let asOperator: Record<string, string>;
let number = 0;

/** Runs the command that it is told, as often as it is told, and says what came of it. */
const obey = ({ messages }: { messages: Json[] }) => {
  const told = messages.filter(({ role }) => role === 'user').at(-1)?.content ?? '';
  const results = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const commands = String(told).split('RUN ').slice(1);
  const done = results.filter(({ role }) => role === 'tool');
  const command = commands[done.length]?.trim();
  if (command === undefined) return `Result: ${done.map(({ content }) => content).join(' | ') || told}`;
  return { toolCalls: [{ name: 'run_command', arguments: { command } }] };
};

beforeAll(async () => {
  guild = await FakeGuild.start({ token: { id: botId, name: 'trunk' } });
  model = await startModelServer({ script: obey as never });
  board = await startSwitchboard({
    home: directory.path,
    paired: [stranger, approver, mate, '500000000000000004'].map((id) => `discord:${id}`),
    env: {
      TRUNKLINE_OPEN: '0',
      PATH: '/usr/bin:/bin',
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      CHAT_BOT_TOKEN: 'token',
      CHAT_GUILD_ID: guild.guildId,
      CHAT_API_URL: guild.url,
    },
    files: {
      'agents/helm.yaml': agent(
        'helm',
        'role: general\ntools: [get_incidents]\nrunCommand: true\nskills: [{ name: chat }]',
      ),
      'approvers.yaml': `approvers: ["chat:${approver}", "discord:${mate}"]\n`,
    },
  });
  asOperator = { authorization: `Bearer ${readFileSync(join(board.home, 'operator-key'), 'utf8').trim()}` };
  await waitFor(() => guild.connected === 1);
});
afterAll(async () => {
  await board.stop();
  await model.stop();
  await guild.stop();
  directory.remove();
});
beforeEach(() => {
  number += 1;
});

const marker = () => join(directory.path, 'switchboard/files', `ran-${number}`);
const command = () => `echo ran >> ran-${number}`;
const runs = () => (existsSync(marker()) ? readFileSync(marker(), 'utf8').split('\n').length - 1 : 0);
const waiting = async (): Promise<Json[]> =>
  (await board.call('/api/hitl/pending', undefined, asOperator)).body.data.filter(({ question }: Json) =>
    question.includes(`ran-${number}`),
  );
const oneWaiting = () => waitFor(async () => (await waiting())[0]);
const answer = (requestId: string, words: string, headers = {}) =>
  board.call('/api/a2a/input', { requestId, answer: words }, headers);
const request = async (content: string) => {
  const payload = { skillHint: 'chat', content };
  return (await board.call('/publish', { topic: 'agent.skill.request', payload })).body.correlationId;
};
const flowOf = async (id: string): Promise<Json> => (await board.call(`/api/flows/skill-${id}`)).body.data;
const ended = (id: string) => waitFor(async () => (await flowOf(id))?.status === 'complete');

/** The newest line of the audit log. */
const lastLine = async (action: string): Promise<Json> =>
  (await board.call(`/operator/audit?action=${action}`, undefined, asOperator)).body.entries[0];

describe('over HTTP, an approval', () => {
  it('counts from the operator, and from nobody else', async () => {
    const id = await request(`RUN ${command()}`);
    const { requestId, approval } = await oneWaiting();
    expect(approval).toBe(true);
    const refused = await answer(requestId, 'yes');
    expect(refused.status).toBe(403);
    expect(refused.body.error).toContain(`${board.url}/app/questions`);
    expect(refused.body.error).toContain('approvers.yaml');
    expect(await waiting()).toHaveLength(1);
    expect((await answer(requestId, 'yes, but be careful', asOperator)).status).toBe(400);
    expect([(await waiting()).length, runs()]).toEqual([1, 0]);
    expect((await answer(requestId, 'yes please', asOperator)).status).toBe(200);
    await ended(id);
    expect(runs()).toBe(1);
    expect((await flowOf(id)).approval).toBeNull();
    const { argumentsHash } = await lastLine('tool.call');
    expect(await lastLine('approval')).toMatchObject({
      ...{ service: 'switchboard', principal: 'operator:operator', subject: 'run_command', argumentsHash },
      ...{ decision: 'allow', result: expect.stringMatching(/^once; SHA-256 of what was shown: \w{64}$/) },
    });
    expect((await answer(requestId, 'yes', asOperator)).status).toBe(409);
  });

  it('is good for one run', async () => {
    const id = await request(`RUN ${command()}\nRUN ${command()}`);
    const first = await oneWaiting();
    await answer(first.requestId, 'yes', asOperator);
    const second = await waitFor(async () =>
      (await waiting()).find(({ requestId }) => requestId !== first.requestId),
    );
    expect(runs()).toBe(1);
    await answer(second.requestId, 'no', asOperator);
    await ended(id);
    expect(runs()).toBe(1);
    expect((await flowOf(id)).approval).toBe('denied');
  });

  it('is not prepared by a question of the same words', async () => {
    const id = await request(`RUN ${command()}`);
    const { requestId, correlationId, question } = await oneWaiting();
    const asked = board.call('/api/agent/ask-human', { correlationId, question });
    const forged = await waitFor(async () => (await waiting()).find((one) => one.requestId !== requestId));
    expect((await answer(forged.requestId, 'yes')).status).toBe(200);
    await asked;
    expect([(await waiting()).map((one) => one.requestId), runs()]).toEqual([[requestId], 0]);
    await answer(requestId, 'no', asOperator);
    await ended(id);
    expect(runs()).toBe(0);
  });

  it('leaves ordinary questions to everybody', async () => {
    const asking = board.call('/api/agent/ask-human', { correlationId: 'plain', question: `ran-${number}?` });
    const { requestId } = await oneWaiting();
    expect((await answer(requestId, 'on Thursday')).status).toBe(200);
    expect((await asking).body.answer).toBe('on Thursday');
  });
});

describe('over A2A, an approval', () => {
  const send = async (text: string, taskId?: string, headers = {}): Promise<Json> => {
    const message = {
      role: 'user',
      messageId: crypto.randomUUID(),
      parts: [{ kind: 'text', text }],
      ...(taskId && { taskId }),
    };
    const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
    return (await board.call('/a2a', call, headers)).body.result;
  };

  it('does not count from the peer that asked; the task waits on and says who may', async () => {
    const task = await send(`RUN ${command()}`);
    expect(task.status.state).toBe('input-required');
    const again = await send('yes', task.id);
    expect(again.status.state).toBe('input-required');
    expect(JSON.stringify(again.status.message)).toContain('Only the operator can approve it');
    expect(runs()).toBe(0);
    const { requestId } = await oneWaiting();
    await answer(requestId, 'yes', asOperator);
    const done = await waitFor(async () => {
      const call = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: task.id } };
      const { result } = (await board.call('/a2a', call)).body;
      return result.status.state === 'completed' && result;
    });
    expect([done.id, runs()]).toEqual([task.id, 1]);
  });
});

describe('in chat, an approval', () => {
  const say = (content: string, userId: string, channelId: string) =>
    guild.say({ content: `<@${botId}> ${content}`, channelId, userId, mentions: [botId] });
  const posted = (channelId: string, words: string) =>
    waitFor(() => guild.posts.find((post) => post.channelId === channelId && post.content.includes(words)));

  it('counts from an approver who is listed as accounts name them', async () => {
    const channel = '700000000000000009';
    say(`RUN ${command()}`, stranger, channel);
    await posted(channel, `ran-${number}`);
    say('yes', mate, channel);
    await waitFor(() => runs() === 1);
  });

  it('does not count from the stranger who asked, and counts from a paired approver', async () => {
    const channel = '700000000000000001';
    say(`RUN ${command()}`, stranger, channel);
    const question = await posted(channel, `ran-${number}`);
    expect(question.content).toContain('Only the operator can approve it');
    const before = guild.posts.length;
    say('yes', stranger, channel);
    await waitFor(() =>
      guild.posts
        .slice(before)
        .some((post) => post.channelId === channel && post.content.includes('approvers.yaml')),
    );
    expect([(await waiting()).length, runs()]).toEqual([1, 0]);
    say('yes please', approver, channel);
    await waitFor(() => runs() === 1);
    expect(await waiting()).toEqual([]);
    expect(await lastLine('approval')).toMatchObject({
      principal: expect.stringMatching(/^person:user:/),
      decision: 'allow',
    });
  });

  it('does not count from an approver elsewhere, nor where two wait', async () => {
    const channel = '700000000000000002';
    say(`RUN ${command()}`, stranger, channel);
    await oneWaiting();
    await posted(channel, `ran-${number}`);
    say('yes', approver, '700000000000000003');
    await posted('700000000000000003', 'Result: yes');
    expect(runs()).toBe(0);
    say(`RUN ${command()} # again`, '500000000000000004', channel);
    await waitFor(async () => (await waiting()).length === 2);
    await posted(channel, '# again');
    say('yes', approver, channel);
    await posted(channel, 'Several requests wait');
    expect(runs()).toBe(0);
    for (const { requestId } of await waiting()) await answer(requestId, 'no', asOperator);
  });

  it('does not count from whoever claims to be the approver', async () => {
    const channel = '700000000000000005';
    say(`RUN ${command()}`, stranger, channel);
    const { requestId } = await oneWaiting();
    await posted(channel, `ran-${number}`);
    const source = { interface: 'chat', channelId: channel, userId: approver };
    const topic = `message.inbound.chat.${channel}`;
    const sent = await board.call('/publish', { topic, payload: { content: 'yes' }, source });
    await ended(sent.body.correlationId);
    expect([(await waiting()).length, runs()]).toEqual([1, 0]);
    await answer(requestId, 'no', asOperator);
  });

  it('is not asked for in words of others', async () => {
    const channel = '700000000000000007';
    say(`RUN ${command()}`, stranger, channel);
    const { requestId, correlationId } = await oneWaiting();
    const payload = { requestId, correlationId, question: 'Lunch at noon?', approval: false };
    for (const headers of [{}, asOperator]) {
      const topic = `agent.input.request.${correlationId}`;
      expect((await board.call('/publish', { topic, payload }, headers)).status).toBe(403);
    }
    await answer(requestId, 'no', asOperator);
  });

  it('ends with the pairing', async () => {
    const channel = '700000000000000006';
    const seen = await observe(board);
    board.write('approvers.yaml', 'approvers: []\n');
    expect((await seen.first('config.updated')).payload.file).toContain('approvers.yaml');
    seen.close();
    say(`RUN ${command()}`, approver, channel);
    const { requestId } = await oneWaiting();
    await posted(channel, `ran-${number}`);
    const before = guild.posts.length;
    say('yes', approver, channel);
    await waitFor(() => guild.posts.slice(before).some((post) => post.content.includes('approvers.yaml')));
    expect(runs()).toBe(0);
    await answer(requestId, 'no', asOperator);
  });
});
