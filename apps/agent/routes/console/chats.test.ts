import { readSse } from '@trunkline/http';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatTurn } from '../../chats/transcript.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from '../../fixtures/start-agent.ts';

describe('chats', () => {
  let model: ModelServer;
  let agent: TestAgent;
  const home = temporaryDirectory();
  const settings = () => ({
    home: home.path,
    env: modelEnvironment(model.url),
    config:
      'knowledge: { embeddings: "off" }\nmodel: { prices: { test-model: { input: 1000000, output: 0 } } }',
  });

  beforeAll(async () => {
    model = await startModelServer();
    agent = await startAgent(settings());
  });
  afterAll(async () => {
    await agent.stop();
    await model.stop();
    home.remove();
  });

  const read = async (path: string) => (await (await agent.fetch(path)).json()) as Body;
  const say = async (session: string, body: object) => {
    const response = await agent.fetch(`/api/chat/sessions/${session}/messages`, post(body));
    return { status: response.status, ...((await response.json()) as { task_id: string }) };
  };
  const turnsOf = async (session: string) => (await read(`/api/chat/sessions/${session}`)).turns;
  const ended = (session: string, state: string) =>
    waitFor(async () => {
      const last = (await turnsOf(session)).at(-1);
      return last?.state === state ? last : undefined;
    });

  interface Body {
    turns: ChatTurn[];
    sessions: { session_id: string; title: string; state: string }[];
    next: string | null;
  }

  it('keeps a turn as people see it: words, files, tools, the answer, tokens and cost', async () => {
    model.enqueue(
      {
        text: 'Let me see.',
        toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }],
        usage: { input: 2, output: 1 },
      },
      { text: 'It is 42.', usage: { input: 3, output: 1 } },
    );
    await say('one', { text: 'What is 6*7?', attachments: [{ name: 'a.txt', text: 'six' }] });
    const turn = await ended('one', 'completed');
    expect(turn.entries).toMatchObject([
      { kind: 'user', text: 'What is 6*7?', attachments: ['a.txt'] },
      { kind: 'text', text: 'Let me see.' },
      {
        kind: 'tool',
        name: 'calculator',
        phase: 'completed',
        args: { expression: '6*7' },
        result: '6*7 = 42',
      },
      { kind: 'text', text: 'It is 42.' },
    ]);
    expect(turn.usage).toEqual({ inputTokens: 5, outputTokens: 2, totalTokens: 7, costUsd: 5 });
    expect(JSON.stringify(model.chats()[0]?.messages)).toContain('Attached file a.txt');
  });

  it('lists conversations by their first words, a page at a time, and finds them by a word', async () => {
    for (const name of ['x', 'y', 'z']) {
      model.enqueue('Hm.');
      await say(name, { text: `About ${name} 100%` });
      await ended(name, 'completed');
    }
    const first = await read('/api/chat/sessions?limit=2&q=about');
    expect(first.sessions.map(({ session_id }) => session_id)).toEqual(['z', 'y']);
    const second = await read(`/api/chat/sessions?limit=2&q=about&before=${first.next}`);
    expect([second.sessions.map(({ title }) => title), second.next]).toEqual([['About x 100%'], null]);
    expect((await read('/api/chat/sessions?q=x%20100%25')).sessions).toHaveLength(1);
  });

  it('gives older turns on request', async () => {
    for (let count = 0; count < 3; count += 1) {
      model.enqueue(`Answer ${count}`);
      await say('long', { text: `Question ${count}` });
      await waitFor(
        async () => (await turnsOf('long')).filter(({ state }) => state === 'completed').length === count + 1,
      );
    }
    const asked = ({ turns }: Body) =>
      turns.map(({ entries: [first] }) => first?.kind === 'user' && first.text);
    const last = await read('/api/chat/sessions/long?limit=2');
    expect(asked(last)).toEqual(['Question 1', 'Question 2']);
    expect(asked(await read(`/api/chat/sessions/long?limit=2&before=${last.next}`))).toEqual(['Question 0']);
  });

  it('shows a reader in mid-turn all there is, then what comes', async () => {
    model.enqueue({ fault: 'stall', text: 'First ', answer: 'second.' });
    const { task_id } = await say('live', { text: 'Go on' });
    await waitFor(async () => JSON.stringify(await turnsOf('live')).includes('First '));
    const response = await agent.fetch(`/api/chat/turns/${task_id}/events`);
    const events = readSse(response.body!);
    const { value: snapshot } = await events.next();
    expect(JSON.parse(snapshot!.data).entries).toMatchObject([{ text: 'Go on' }, { text: 'First ' }]);
    model.release();
    const rest: { event: string; data: string }[] = [];
    for await (const event of events) rest.push(event);
    const appended = rest.flatMap(({ event, data }) => (event === 'append' ? [JSON.parse(data)] : []));
    expect(appended.map(({ text }) => text).join('')).toBe('second.');
    expect(appended[0].index).toBe(1);
    expect(rest.at(-1)).toMatchObject({ event: 'state', data: expect.stringContaining('"completed"') });
  });

  it('goes on after a restart where a question waits, and says what the restart broke off', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
    const { task_id } = await say('parked', { text: 'Paint it' });
    await ended('parked', 'input-required');
    model.enqueue({ fault: 'stall', text: 'Half' });
    await say('broken', { text: 'Tell me' });
    await waitFor(async () => JSON.stringify(await turnsOf('broken')).includes('Half'));
    await agent.stop();
    model.release();
    agent = await startAgent(settings());
    expect((await ended('broken', 'failed')).entries.at(-1)).toMatchObject({
      kind: 'note',
      text: 'interrupted by server restart',
      failed: true,
    });
    model.enqueue('Painted.');
    const blue = { text: 'blue', task_id, message_id: 'b-1' };
    await say('parked', blue);
    expect((await ended('parked', 'completed')).entries).toMatchObject([
      { kind: 'user', text: 'Paint it' },
      { kind: 'question', text: 'Which colour?' },
      { kind: 'user', text: 'blue' },
      { kind: 'text', text: 'Painted.' },
    ]);
    expect((await say('parked', { text: 'again', task_id })).status).toBe(400);
    expect(await say('parked', blue)).toMatchObject({ status: 200, task_id });
    expect((await turnsOf('parked')).flatMap(({ entries }) => entries)).toHaveLength(4);
  });

  it('forgets a conversation, and stops what runs in it', async () => {
    model.enqueue({ fault: 'stall', text: 'Wait' });
    await say('gone', { text: 'Hold' });
    await waitFor(async () => JSON.stringify(await turnsOf('gone')).includes('Wait'));
    const answer = await agent.fetch('/api/chat/sessions/gone', { method: 'DELETE' });
    expect(await answer.json()).toEqual({ ok: true, deleted: true });
    model.release();
    expect(await turnsOf('gone')).toEqual([]);
    expect((await agent.fetch('/api/chat/turns/nothing/events')).status).toBe(404);
  });
});

describe('chat origins', () => {
  let model: ModelServer;
  let agent: TestAgent;
  const home = temporaryDirectory();
  const begin = () =>
    startAgent({
      home: home.path,
      env: modelEnvironment(model.url),
      config: 'knowledge: { embeddings: "off" }',
    });

  beforeAll(async () => {
    model = await startModelServer();
    agent = await begin();
  });
  afterAll(async () => {
    await agent.stop();
    await model.stop();
    home.remove();
  });

  interface Listed {
    session_id: string;
    title: string;
    origin: string;
    state: string;
  }

  const read = async <Body>(path: string) => (await (await agent.fetch(path)).json()) as Body;
  const list = async (query = '') =>
    (await read<{ sessions: Listed[] }>(`/api/chat/sessions?${query}`)).sessions;
  const titles = async (query: string) => (await list(query)).map(({ title }) => title);
  const turnsOf = async (session: string) =>
    (await read<{ turns: ChatTurn[] }>(`/api/chat/sessions/${encodeURIComponent(session)}`)).turns;

  it('lists chats from everywhere, each with where it began, and narrows the list', async () => {
    model.enqueue('One.', 'Two.', 'Three.', 'Four.');
    await agent.send('By another agent', { contextId: 'from-agent' });
    await agent.send(
      'In the terminal',
      { contextId: 'from-terminal' },
      { metadata: { channel: 'terminal' } },
    );
    await agent.fetch('/api/chat', post({ message: 'By the chat API', session_id: 'from-api' }));
    await agent.fetch('/api/inbox', post({ text: 'The bell rang', priority: 'now', source: 'door' }));
    await waitFor(async () => (await list('from=inbox'))[0]?.state === 'completed');
    expect((await list()).map(({ session_id, origin }) => [session_id, origin])).toEqual([
      ['system:activity', 'inbox'],
      ['from-api', 'chat'],
      ['from-terminal', 'terminal'],
      ['from-agent', 'a2a'],
    ]);
    expect(await titles('from=people')).toEqual(['By the chat API', 'In the terminal']);
    expect(await titles('from=a2a')).toEqual(['By another agent']);
    expect((await titles('from=inbox'))[0]).toMatch(/^The bell rang/);
    expect(await titles('from=all&q=agent')).toEqual(['By another agent']);
    expect((await agent.fetch('/api/chat/sessions?from=nowhere')).status).toBe(400);
  });

  it('tells a chat of another agent with its words and tools, and goes on with it', async () => {
    model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }] }, 'It is 42.');
    await agent.send('What is 6*7?', { contextId: 'sums' });
    expect((await turnsOf('sums'))[0]?.entries).toMatchObject([
      { kind: 'user', text: 'What is 6*7?' },
      { kind: 'tool', name: 'calculator', result: '6*7 = 42' },
      { kind: 'text', text: 'It is 42.' },
    ]);
    model.enqueue('Half is 21.');
    await agent.fetch('/api/chat/sessions/sums/messages', post({ text: 'And half of it?' }));
    await waitFor(
      async () => (await turnsOf('sums')).at(-1)?.state === 'completed' && (await turnsOf('sums'))[1],
    );
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('It is 42.');
    expect((await list('from=a2a')).find(({ session_id }) => session_id === 'sums')?.title).toBe(
      'What is 6*7?',
    );
  });

  it('has a question to another agent answered here, also after a restart', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
    const task = await agent.send('Paint it', { contextId: 'paint' });
    expect(task.status.state).toBe('input-required');
    expect((await list('q=paint'))[0]).toMatchObject({ state: 'input-required', origin: 'a2a' });
    await agent.stop();
    agent = await begin();
    model.enqueue('Painted.');
    const answer = { text: 'blue', task_id: task.id };
    expect((await agent.fetch('/api/chat/sessions/paint/messages', post(answer))).status).toBe(200);
    await waitFor(async () => (await turnsOf('paint'))[0]?.state === 'completed');
    expect((await turnsOf('paint'))[0]?.entries.map(({ kind }) => kind)).toEqual([
      'user',
      'question',
      'user',
      'text',
    ]);
  });

  it('leaves turns of schedules to the activity', async () => {
    model.enqueue('Stretched.');
    const metadata = { scheduler_job_id: 'job-1', channel: 'a2a' };
    await agent.send('Time to stretch', { contextId: 'fired' }, { metadata });
    expect(await titles('q=stretch')).toEqual([]);
  });
});
