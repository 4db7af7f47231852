import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startModelServer, type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { operatorActor } from '../owners.ts';
import { openState } from '../turns/turn-state.ts';
import { type ChatOrigin, ChatStore, chatSources } from './chat-store.ts';
import type { ChatTurn } from './transcript.ts';

describe('chat store', () => {
  let home: TemporaryDirectory;
  let database: ReturnType<typeof openState>;
  let store: ChatStore;

  beforeEach(() => {
    home = temporaryDirectory();
    database = openState(home.path);
    store = new ChatStore(database, { fromPrograms: 3, turns: 4, trimEvery: 1 });
  });
  afterEach(() => {
    database.close();
    home.remove();
  });

  let tasks = 0;
  const save = (session: string, text: string, origin: ChatOrigin, owner?: string) => {
    tasks += 1;
    const turn: ChatTurn = {
      task_id: `task-${tasks}`,
      session_id: session,
      state: 'completed',
      entries: [{ kind: 'user', text, attachments: [] }],
      usage: null,
      duration_ms: null,
      created_at: tasks,
    };
    store.save(turn, origin, owner);
  };
  const listed = () =>
    store
      .list({ limit: 50, search: '', origins: chatSources.all, viewer: operatorActor.viewer })
      .map(({ session_id }) => session_id)
      .sort();
  /** Times are told in milliseconds: the next chat is newer than the last. */
  const nextMillisecond = () => {
    for (const now = Date.now(); Date.now() === now; );
  };

  it('keeps all chats of people, and of programs the newest', () => {
    for (const [index, origin] of (['chat', 'a2a', 'terminal', 'a2a', 'a2a', 'a2a'] as const).entries()) {
      save(`${origin}-${index}`, 'Hi', origin);
      nextMillisecond();
    }
    expect(listed()).toEqual(['a2a-3', 'a2a-4', 'a2a-5', 'chat-0', 'terminal-2']);
    expect(store.turns('a2a-1', 10)).toEqual([]);
  });

  it('keeps the chats of one owner whatever another begins', () => {
    save('of-ava', 'Hi', 'a2a', 'person:user:ava');
    for (let count = 0; count < 4; count += 1) {
      nextMillisecond();
      save(`of-bob-${count}`, 'Hi', 'a2a', 'person:user:bob');
    }
    expect(listed()).toEqual(['of-ava', 'of-bob-1', 'of-bob-2', 'of-bob-3']);
  });

  it('looks at the chats of everybody who began some since it last looked', () => {
    store = new ChatStore(database, { fromPrograms: 3, turns: 4, trimEvery: 6 });
    for (let number = 1; number <= 5; number += 1) save(`ann-${number}`, 'Hello', 'a2a', 'person:ann');
    expect(listed()).toHaveLength(5);
    save('ben-1', 'Hello', 'a2a', 'person:ben');
    expect(listed()).toEqual(['ann-3', 'ann-4', 'ann-5', 'ben-1']);
    expect(store.turns('ann-1', 10)).toEqual([]);
    expect(store.turns('ann-3', 10)).toHaveLength(1);
  });

  it('looks at the chats of everybody when it first looks after a start', () => {
    store = new ChatStore(database, { fromPrograms: 3, turns: 4, trimEvery: 6 });
    for (let number = 1; number <= 5; number += 1) save(`ann-${number}`, 'Hello', 'a2a', 'person:ann');
    store = new ChatStore(database, { fromPrograms: 3, turns: 4, trimEvery: 1 });
    save('ben-1', 'Hello', 'a2a', 'person:ben');
    expect(listed()).toEqual(['ann-3', 'ann-4', 'ann-5', 'ben-1']);
  });

  it('looks at the same chats again when it could not delete', () => {
    store = new ChatStore(database, { fromPrograms: 3, turns: 4, trimEvery: 10 });
    const saveLong = (times: number) => {
      for (let time = 0; time < times; time += 1) save('long', 'Hello', 'chat', 'person:ben');
    };
    saveLong(10);
    for (let number = 1; number <= 5; number += 1) save(`ann-${number}`, 'Hello', 'a2a', 'person:ann');
    const broken = `BEFORE DELETE ON chat_turn WHEN old.session_id = 'long'`;
    database.exec(`CREATE TRIGGER broken ${broken} BEGIN SELECT raise(ABORT, 'broken'); END`);
    expect(() => saveLong(5)).toThrow('broken');
    expect(listed()).toHaveLength(6);
    database.exec('DROP TRIGGER broken');
    saveLong(10);
    expect(listed()).toEqual(['ann-3', 'ann-4', 'ann-5', 'long']);
  });

  it('keeps the newest turns of a chat that never ends', () => {
    for (let count = 0; count < 9; count += 1) save('system:activity', `Bell ${count}`, 'inbox');
    const kept = store.turns('system:activity', 100).map(({ turn: { entries } }) => entries[0]);
    expect(kept).toMatchObject([5, 6, 7, 8].map((count) => ({ text: `Bell ${count}` })));
  });

  it('names a chat after its first words, and what comes in after its newest', () => {
    for (const words of ['First', 'Second']) {
      save('one', words, 'a2a');
      save('system:activity', words, 'inbox');
    }
    expect(store.chat('one')).toMatchObject({ title: 'First', origin: 'a2a' });
    expect(store.chat('system:activity')?.title).toBe('Second');
  });

  it('leaves a chat where it began when somebody else goes on with it', () => {
    save('one', 'From outside', 'a2a');
    save('one', 'From the page', 'chat');
    expect(store.chat('one')).toMatchObject({ origin: 'a2a' });
  });

  it('shows the run of a schedule only in a chat of the same owner, in the branch that is shown', () => {
    save('hers', 'Hello', 'chat', 'person:ada');
    save('inbox', 'Hello', 'inbox', 'person:ada');
    const run = (scheduled_in: unknown, owner = 'person:ada') => {
      const metadata = { scheduler_job_id: 'job', scheduled_in };
      const task = { id: 't', contextId: 'c', state: 'working' as const, createdAt: 0, updatedAt: 0, owner };
      return store.scheduledIn({ ...task, history: [], artifacts: [], metadata });
    };
    expect(run('hers')).toBe('hers');
    expect([run('hers', 'anonymous'), run('inbox'), run('gone'), run(undefined), run({})]).toEqual(
      Array.from({ length: 5 }, () => undefined),
    );
    const turn = store.turns('hers', 1)[0]?.turn;
    if (turn) store.addBranch('branch-1', turn, new Set());
    store.show('branch-1');
    expect([run('hers'), run('branch-1')]).toEqual(['branch-1', 'branch-1']);
  });
});

describe('chat faults', () => {
  let agent: TestAgent;
  afterEach(() => agent.stop());

  const titles = async () => {
    const listed = (await (await agent.fetch('/api/chat/sessions?limit=30&from=all')).json()) as {
      sessions: { title: string; state: string }[];
    };
    return listed.sessions.map(({ title, state }) => `${title}: ${state}`);
  };

  it('a chat that cannot be written for a while holds up no turn, and is kept once there is room', async () => {
    agent = await startAgent();
    const [file = ''] = globSync('**/turns.db', { cwd: agent.home });
    const disk = new DatabaseSync(join(agent.home, file));
    disk.exec(`CREATE TRIGGER full BEFORE INSERT ON chat_turn BEGIN SELECT RAISE(ABORT, 'no room'); END`);
    expect((await agent.send('What is 2 + 3?')).status.state).toBe('completed');
    expect(await titles()).toEqual([]);
    disk.exec('DROP TRIGGER full');
    disk.close();
    await expect.poll(titles).toEqual(['What is 2 + 3?: completed']);
  });

  it('shows what the model thinks apart from the answer, and sends it back to nobody', async () => {
    const model = await startModelServer();
    agent = await startAgent({ env: modelEnvironment(model.url) });
    model.enqueue('<think>\nThey greet.\n</think>\n\nHello!', 'Bye.');
    const task = await agent.send('Hi', { contextId: 'thinking' });
    expect(answerText(task)).toBe('Hello!');
    const turns = async () =>
      ((await (await agent.fetch('/api/chat/sessions/thinking')).json()) as { turns: ChatTurn[] }).turns;
    expect((await turns())[0]?.entries).toMatchObject([
      { kind: 'user' },
      { kind: 'reasoning', text: 'They greet.\n' },
      { kind: 'text', text: 'Hello!' },
    ]);
    await agent.send('Go on', { contextId: 'thinking' });
    expect(JSON.stringify(model.chats().at(-1))).not.toContain('They greet');
    await model.stop();
  });
});
