import { createModelGateway } from '@trunkline/llm';
import { type ModelServer, type ScriptedReply, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { ChatTitles } from './chat-titles.ts';

/** What the helper writes next. */
let written: ScriptedReply = '';
let model: ModelServer;
let agent: TestAgent;
beforeAll(async () => {
  model = await startModelServer({
    script: (request) => (request.model === 'small' ? written : 'It was opened in 1966.'),
  });
  agent = await startAgent({
    env: { LLM_GATEWAY_URL: model.url, LLM_MODEL: 'large', LLM_FAST_MODEL: 'small' },
    config: 'subagents: []\nknowledge: { embeddings: "off" }\n',
  });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
});

interface Shown {
  chat: { title: string };
  turns: { task_id: string; state: string }[];
}

async function json<Body>(path: string, init?: RequestInit): Promise<Body> {
  return (await (await agent.fetch(`/api/chat/sessions/${path}`, init)).json()) as Body;
}

/** Says something on the chat page and waits for the end of the turn. */
async function say(session: string, text: string): Promise<void> {
  const { task_id } = await json<{ task_id: string }>(`${session}/messages`, post({ text }));
  await waitFor(async () => {
    const { turns } = await json<Shown>(session);
    return turns.some((turn) => turn.task_id === task_id && turn.state === 'completed');
  });
}

const titleOf = async (session: string) => (await json<Shown>(session)).chat.title;

const asked = () => model.chats().filter((request) => request.model === 'small');

it('gives a conversation a title by the helper after its first turn, once', async () => {
  written = '**Title: “The station at La Rance”.**\n\nI hope that helps!';
  await say('rance', 'When was the tidal power station in Brittany opened, and by whom?');
  await expect.poll(() => titleOf('rance')).toBe('The station at La Rance');
  expect(JSON.stringify(asked().at(-1)?.messages)).toMatch(/Brittany opened.*It was opened in 1966/);
  written = 'Another title';
  const before = asked().length;
  await say('rance', 'And who paid?');
  // A title of another conversation shows that none was asked for here.
  await say('other', 'And the Severn?');
  await expect.poll(() => titleOf('other')).toBe('Another title');
  expect([asked().length - before, await titleOf('rance')]).toEqual([1, 'The station at La Rance']);
});

it('keeps the first words where the helper fails or writes nothing', async () => {
  const before = asked().length;
  for (const [index, reply] of [{ fault: 'status', status: 400 } as const, '""'].entries()) {
    written = reply;
    await say(`untitled-${index}`, 'What is the tide?');
    await expect.poll(() => asked().length).toBe(before + index + 1);
  }
  // A title of another conversation shows that what was written for these has been read.
  written = 'A later title';
  await say('later', 'And the moon?');
  await expect.poll(() => titleOf('later')).toBe('A later title');
  for (const index of [0, 1]) expect(await titleOf(`untitled-${index}`)).toBe('What is the tide?');
});

it('charges a title by its length where the endpoint counts nothing', async () => {
  written = { text: 'The tide', usage: { input: 0, output: 0 } };
  const titles = new ChatTitles({
    chats: {
      chat: () => ({ origin: 'chat', title: 'What is' }) as never,
      turns: () => [{}] as never,
      rename: () => true,
    },
    gateway: () =>
      createModelGateway({
        url: model.url,
        model: 'large',
        fastModel: 'small',
        prices: { small: { input: 1_000_000, output: 0 } },
      }),
    policy: { agent: 'core', pay: (...paid) => void payments.push(paid) },
    onTitle: () => undefined,
    logger: { debug: () => undefined },
  });
  const payments: unknown[][] = [];
  const principal = { kind: 'person', id: 'user:ava', via: [] } as const;
  const text = 'What is the tide? '.repeat(20);
  titles.turnEnded({ sessionId: 's', text, answer: 'High.', principal });
  await expect.poll(() => payments).toEqual([[principal, 'core', expect.any(Number)]]);
  // A dollar for a token: about four characters.
  expect(payments[0]?.[2]).toBeGreaterThan(text.length / 8);
  await titles.close();
});

it('lets a turn end well where no title can be written', () => {
  const fails = () => {
    throw new Error('database or disk is full');
  };
  const problems: unknown[] = [];
  const titles = new ChatTitles({
    chats: { chat: fails, rename: fails, turns: fails },
    gateway: fails,
    policy: { agent: 'core' },
    onTitle: fails,
    logger: { debug: (fields: unknown) => problems.push(fields) },
  });
  const principal = { kind: 'person', id: 'user:ava', via: [] } as const;
  titles.turnEnded({ sessionId: 's', text: 'Hi', answer: 'Hello', principal });
  expect(problems).toEqual([{ problem: 'database or disk is full' }]);
});

it('asks for no title of what other agents say', async () => {
  const before = asked().length;
  await agent.send('What is the tide?');
  written = 'A last title';
  await say('last', 'And the ebb?');
  await expect.poll(() => titleOf('last')).toBe('A last title');
  expect(asked().length - before).toBe(1);
});
