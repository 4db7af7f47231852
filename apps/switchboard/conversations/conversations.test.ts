import type { Principal } from '@trunkline/identity';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Crew, startCrew } from '../fixtures/crew.ts';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';
import { Conversations, talkOf } from '../router/decide.ts';
import { type ConversationEntry, ConversationStore, createTurnMemory } from './conversation-store.ts';

let crew: Crew;
let { model, board, seen, publish } = {} as Crew;
beforeAll(async () => {
  crew = await startCrew();
  ({ model, board, seen, publish } = crew);
});
afterAll(() => crew.stop());

const heard = (): string[] =>
  model
    .chats()
    .at(-1)
    ?.messages.slice(1)
    .map(({ content }) => String(content)) ?? [];

async function say(content: string, userId: string, more: Json = {}) {
  const source = { interface: 'chat', userId };
  const id = await publish('message.inbound.chat.dm', { content, direct: true, ...more }, { source });
  return (await seen.first(`agent.skill.response.${id}`)).payload;
}

describe('a conversation', () => {
  it('is remembered from message to message, for its partners alone', async () => {
    await say('my name is Ada', 'ada');
    await say('who am I?', 'ada');
    expect(heard()).toEqual(['my name is Ada', 'model-of-helm heard you', 'who am I?']);
    await say('and I?', 'bob');
    expect(heard()).toEqual(['and I?']);
    await say('it is me, Ada', 'ada', { proven: false });
    expect(heard()).toEqual(['it is me, Ada']);
  });

  it('can be named by whoever sends, and by the context of an A2A task', async () => {
    const ask = async (content: string) => {
      const id = await publish('agent.skill.request', { skillHint: 'chat', content, conversationId: 'c-9' });
      await seen.first(`agent.skill.response.${id}`);
    };
    await ask('one');
    await ask('two');
    expect(heard()).toEqual(['one', 'model-of-helm heard you', 'two']);
    const send = async (text: string, contextId?: string) => {
      const message = {
        role: 'user',
        messageId: crypto.randomUUID(),
        parts: [{ kind: 'text', text }],
        contextId,
      };
      const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
      return (await board.call('/a2a', call, { 'content-type': 'application/json' })).body.result;
    };
    const { contextId } = await send('first');
    await send('second', contextId);
    expect(heard()).toEqual(['first', 'model-of-helm heard you', 'second']);
  });

  it('forgets turns that failed', async () => {
    model.enqueue({ fault: 'status', status: 400, message: 'nonsense' });
    expect((await say('break', 'cleo')).taskState).toBe('failed');
    await say('again', 'cleo');
    expect(heard()).toEqual(['again']);
  });

  it('is told on the bus, and its turns can be asked for [S124] [S142]', async () => {
    await say('tell me', 'dora');
    const said = seen.messages.find(
      ({ topic, payload }) => topic === 'agent.chat.inbound' && payload.content === 'tell me',
    );
    expect(said?.payload).toMatchObject({ agent: 'helm', skill: 'chat', userId: 'dora' });
    const { conversationId, correlationId } = (said as Json).payload;
    expect((await seen.first('agent.chat.outbound', correlationId)).payload).toMatchObject({
      agent: 'helm',
      content: 'model-of-helm heard you',
      conversationId,
    });
    const reply = { topic: 'note.turns' };
    const id = await publish('logger.turn.query', { conversationId }, { reply });
    expect((await seen.first('note.turns', id)).payload.turns).toMatchObject([
      { agent: 'helm', said: 'tell me', answered: 'model-of-helm heard you', conversationId },
    ]);
    const lost = await publish('logger.turn.query', {});
    expect((await seen.first('system.error', lost)).payload.error).toContain('reply topic');
  });
});

describe('a channel that wants a mention after the first message', () => {
  it('takes the first message and those that mention the agent, and leaves the others alone', async () => {
    board.write(
      'channels.yaml',
      'channels: [{ id: hall, platform: chat, channelId: "66", agent: warden, conversation: { enabled: true, timeoutMs: 60000, requireMentionAfterFirst: true } }]',
    );
    await waitFor(async () => (await board.call('/api/workspace')).body.data.channels[0].id === 'hall');
    const source = { interface: 'chat', channelId: '66', userId: 'eve' };
    const write = (payload: Json) => publish('message.inbound.chat.66', payload, { source });
    const first = await write({ content: 'hello' });
    expect((await seen.first(`agent.skill.response.${first}`)).payload.taskState).toBe('completed');
    const between = await write({ content: 'to my neighbour' });
    const ignored = await seen.first('message.ignored', between);
    expect(ignored.payload.why).toContain('mention');
    expect(ignored.principal).toMatchObject({ via: ['switchboard'] });
    const meant = await write({ content: 'more, please', mentioned: true });
    expect((await seen.first(`agent.skill.response.${meant}`)).payload.taskState).toBe('completed');
    expect(heard()).toEqual(['hello', 'model-of-warden heard you', 'more, please']);
    expect(
      seen.messages.some(
        ({ topic, correlationId }) => topic === 'agent.skill.request' && correlationId === between,
      ),
    ).toBe(false);
    const { body } = await board.call('/api/routes/test', {
      topic: 'message.inbound.chat.66',
      payload: { content: 'x' },
      source,
    });
    expect(body.data).toMatchObject({ dispatched: false, reason: 'ignored' });
  });
});

it('goes on after a restart', async () => {
  const home = temporaryDirectory();
  const open = () =>
    startSwitchboard({
      home: home.path,
      env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'plain-model' },
    });
  const tell = async (content: string, correlationId: string) => {
    const running = await open();
    const watched = await observe(running);
    const source = { interface: 'chat', userId: 'fay' };
    const payload = { content, direct: true };
    await running.call('/publish', { topic: 'message.inbound.chat.dm', payload, source, correlationId });
    await watched.first(`agent.skill.response.${correlationId}`);
    watched.close();
    await running.stop();
  };
  await tell('the outage of today', 'r1');
  await tell('and now?', 'r2');
  expect(heard()).toEqual(['the outage of today', 'plain-model heard you', 'and now?']);
  home.remove();
});

it('ends with its time, and keeps to what fits', async () => {
  const directory = temporaryDirectory();
  let now = 1_000_000;
  const store = new ConversationStore(`${directory.path}/c.db`, () => now);
  const id = store.hold('k', 'ava', 1000);
  now += 900;
  expect(store.hold('k', 'ava', 1000)).toBe(id);
  now += 1001;
  expect(store.talk('k')).toBeUndefined();
  expect(store.hold('k', 'bea', 1000)).not.toBe(id);
  const memory = createTurnMemory(store);
  for (let number = 1; number <= 40; number++)
    await memory.note({
      conversationId: id,
      agent: 'ava',
      owner: 'anonymous',
      requestId: `r${number}`,
      said: `${number}`,
      answered: 'y',
    });
  await memory.note({
    conversationId: id,
    agent: 'ava',
    owner: 'anonymous',
    requestId: 'r40',
    said: 'twice',
    answered: 'y',
  });
  expect(memory.recall(id, 'ava').map(({ said }) => said)).toEqual(
    Array.from({ length: 30 }, (_, index) => String(index + 11)),
  );
  await memory.note({
    conversationId: id,
    agent: 'ava',
    owner: 'anonymous',
    requestId: 'long',
    said: 'x'.repeat(23_990),
    answered: 'y',
  });
  expect(memory.recall(id, 'ava').length).toBeLessThan(6);
  now += 8 * 24 * 60 * 60 * 1000;
  store.sweep();
  expect(memory.recall(id, 'ava')).toEqual([]);
  store.close();
  directory.remove();
});

it('keeps what was written last when earlier rows come back from the journal', () => {
  const directory = temporaryDirectory();
  let now = 1_000_000;
  const store = new ConversationStore(`${directory.path}/c.db`, () => now);
  const shared: ConversationEntry[] = [];
  store.onWrite((entry) => void shared.push(entry));
  store.keep('c', 'ava', { contextId: 'x', taskId: 'asks' });
  // The clock of another switchboard may be behind.
  now -= 500;
  store.keep('c', 'ava', { contextId: 'x' });
  store.hold('k', 'ava', 1000);
  now += 1001;
  const id = store.hold('k', 'bea', 1000);
  const [asking, , ended] = shared;
  for (const late of [asking, ended]) if (late !== undefined) store.take(late);
  expect(store.recall('c', 'ava')).toEqual({ contextId: 'x' });
  expect(store.talk('k')).toEqual({ conversationId: id, agent: 'bea' });
  store.close();
  directory.remove();
});

it('belongs to who somebody is, not to the name that they bear on the surface', async () => {
  const directory = temporaryDirectory();
  const store = new ConversationStore(`${directory.path}/c.db`);
  const [ava, eve] = (['user:ava', 'user:eve'] as const).map(
    (id): Principal => ({ kind: 'person', id, via: [] }),
  ) as [Principal, Principal];
  const conversations = new Conversations(store);
  const talk = (principal: Principal) => {
    const source = { interface: 'cloud', channelId: 'inbox', userId: 'Ava <ava@x.example>' };
    const payload = { content: 'x', direct: true };
    return talkOf({ topic: 'message.inbound.cloud.mail.inbox', payload, source, principal }, []);
  };
  const id = conversations.remember(talk(ava), 'helm') ?? '';
  expect([conversations.agentOf(talk(ava)), conversations.agentOf(talk(eve))]).toEqual(['helm', undefined]);
  expect(conversations.remember(talk(eve), 'helm')).not.toBe(id);
  const memory = createTurnMemory(store);
  const said = { conversationId: id, agent: 'helm', requestId: 'r1', said: 'secret', answered: 'y' };
  await memory.note({ ...said, owner: 'person:user:ava' });
  expect([ava, eve].map((viewer) => memory.recall(id, 'helm', viewer).length)).toEqual([1, 0]);
  store.close();
  directory.remove();
});
