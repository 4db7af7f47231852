import { FakeGuild, temporaryDirectory, waitFor } from '@trunkline/testing';
import { splitMessage } from '@trunkline/tools';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { canContinue, chatInbound } from '../../callers.ts';
import { createOwners, notYours } from '../../owners.ts';
import { callTool } from '../../tools/call-tool.suite.ts';
import { SessionStore } from '../../turns/session-store.ts';
import { openState } from '../../turns/turn-state.ts';
import {
  type ChatDoor,
  type Inbound,
  type InboundMessage,
  type OpenPlugins,
  openPlugins,
} from '../open-plugins.ts';
import { createChatPlugin } from './chat-plugin.ts';

const [botId, admin, stranger] = ['600000000000000001', '500000000000000001', '500000000000000002'];
const [direct, general] = ['700000000000000001', '700000000000000077'];
const messagesPath = '/api/v10/channels/5/messages';

let guild: FakeGuild;
let plugins: OpenPlugins | undefined;
let logged: string[] = [];
const log = (_fields: object, message: string) => void logged.push(message);
const logger = { info: log, warn: log, error: log };

async function open(inbound?: Inbound, token = 'tok', door?: ChatDoor) {
  const plugin = createChatPlugin({ token, adminIds: [admin], apiUrl: guild.url, retryMs: 5 });
  plugins = await openPlugins([plugin], { enabled: ['chat'], disabled: [] }, { logger, inbound, door });
  return plugins;
}
const call = (name: string, input: object) =>
  callTool(plugins!.tools.find((tool) => tool.name === name)!, input);
const requests = () => guild.server.requests;

beforeEach(async () => {
  logged = [];
  guild = await FakeGuild.start({ tok: { id: botId, name: 'trunk' } });
});
afterEach(async () => {
  await plugins?.close();
  plugins = undefined;
  await guild.stop();
});

describe('the chat tools', () => {
  it('are there only with a token [A063]', async () => {
    expect((await open(undefined, '')).states).toMatchObject([
      { id: 'chat', state: 'missing', tools: [], reason: expect.stringContaining('CHAT_BOT_TOKEN') },
    ]);
    expect((await open()).states).toMatchObject([
      { state: 'on', tools: ['chat_send', 'chat_read', 'chat_react'] },
    ]);
  });

  it('send, and split long messages at the ends of lines [A095] [A190]', async () => {
    await open();
    expect(await call('chat_send', { channel_id: '5', content: 'hello' })).toBe('Sent 1 message(s) to 5.');
    const lines = [...Array(30).keys()].map((number) => `${number} ${'x'.repeat(96)}`);
    expect(await call('chat_send', { channel_id: '5', content: lines.join('\n') })).toBe(
      'Sent 2 message(s) to 5.',
    );
    const sent = guild.posts.slice(1).map(({ content }) => content);
    expect(sent.join('\n')).toBe(lines.join('\n'));
    expect(sent.every(({ length }) => length <= 2000)).toBe(true);
    expect(requests()[0]).toMatchObject({
      method: 'POST',
      path: messagesPath,
      headers: { authorization: 'Bot tok' },
    });
    expect(await call('chat_send', { channel_id: '5', content: ' ' })).toBe('Error: the message is empty.');
  });

  it('split whole characters and keep everything', () => {
    const text = `${'a'.repeat(1999)}🙂${'b'.repeat(3000)}\nend`;
    const pieces = splitMessage(text);
    expect(pieces.every((piece) => piece.length <= 2000 && piece.isWellFormed())).toBe(true);
    expect(pieces.join('').replaceAll('\n', '')).toBe(text.replaceAll('\n', ''));
  });

  it('read the newest first, from 1 to 100 [A096] [A191]', async () => {
    await open();
    const message = (second: string) => ({
      id: second,
      content: `m${second}`,
      timestamp: `2026-01-01T00:00:0${second}Z`,
      author: { username: 'ada' },
    });
    guild.server.on(`GET ${messagesPath}`, () => ({ body: ['1', '3', '2'].map(message) }));
    expect(await call('chat_read', { channel_id: '5' })).toBe(
      '[3] 2026-01-01T00:00 ada: m3\n[2] 2026-01-01T00:00 ada: m2\n[1] 2026-01-01T00:00 ada: m1',
    );
    await call('chat_read', { channel_id: '5', limit: 500 });
    await call('chat_read', { channel_id: '5', limit: 0 });
    expect(requests().map(({ query }) => query.get('limit'))).toEqual(['20', '100', '1']);
    expect(await call('chat_read', { channel_id: '6' })).toBe('No messages.');
  });

  it('say when the rate is limited [A096]', async () => {
    await open();
    const limited = (retry_after: number) => ({ status: 429, body: { message: 'slow', retry_after } });
    guild.server.fail('GET', limited(1.25));
    expect(await call('chat_read', { channel_id: '5' })).toBe(
      'Error: The chat limits the rate: retry_after 1.25',
    );
    guild.server.fail('POST', { body: {} });
    guild.server.fail('POST', limited(2));
    expect(await call('chat_send', { channel_id: '5', content: 'x'.repeat(2500) })).toBe(
      'Error: 1 of 2 messages were sent, then: The chat limits the rate: retry_after 2',
    );
  });

  it('react with an emoji [A097]', async () => {
    await open();
    expect(await call('chat_react', { channel_id: '5', message_id: '9', emoji: '👍' })).toBe(
      'Reacted with 👍.',
    );
    await call('chat_react', { channel_id: '5', message_id: '9', emoji: '<:party:123>' });
    expect(requests().map(({ method, path }) => `${method} ${path}`)).toEqual([
      `PUT ${messagesPath}/9/reactions/%F0%9F%91%8D/@me`,
      `PUT ${messagesPath}/9/reactions/party%3A123/@me`,
    ]);
  });

  it.each(['5/../6', 'general', '', '5?x=1'])('take "%s" for no channel', async (channel_id) => {
    await open();
    await expect(call('chat_read', { channel_id })).rejects.toThrow(z.ZodError);
  });
});

describe('the bot', () => {
  const sent = () => guild.posts.map(({ content }) => content);
  const connected = () => waitFor(() => logged.includes('chat gateway connected'));
  const sayDirectly = (content: string, userId = admin) =>
    guild.say({ content, channelId: direct, userId, to: botId });

  it('posts the files of an answer', async () => {
    const bytes = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
    await open(async () => ({
      text: 'drawn',
      files: [{ name: 'chart.svg', mediaType: 'image/svg+xml', bytes }],
    }));
    await connected();
    sayDirectly('draw');
    await waitFor(() => guild.posts.length === 2);
    expect(sent()).toEqual(['drawn', '']);
    expect(guild.posts[1]?.files).toEqual([{ name: 'chart.svg', mediaType: 'image/svg+xml', bytes }]);
  });

  it('answers mentions, and direct messages of those who may write [A064]', async () => {
    const heard: unknown[] = [];
    await open(async (inbound) => {
      heard.push(inbound);
      return `you said ${inbound.text}`;
    });
    await connected();
    sayDirectly('let me in', stranger);
    guild.say({ content: 'not for you', channelId: general, userId: admin });
    guild.say({ content: 'beep', channelId: direct, userId: admin, to: botId, isBot: true });
    sayDirectly('direct');
    await waitFor(() => guild.posts.length === 1);
    guild.say({ content: `<@${botId}> in public`, channelId: general, userId: stranger, mentions: [botId] });
    await waitFor(() => guild.posts.length === 2);
    expect(sent()).toEqual(['you said direct', 'you said in public']);
    expect(heard[0]).toEqual({
      text: 'direct',
      source: 'chat',
      contextId: `chat:${direct}`,
      author: admin,
      isListed: true,
    });
  });

  it('hands on the files of a message, also of one without words', async () => {
    const heard: InboundMessage[] = [];
    await open(async (inbound) => {
      heard.push(inbound);
      return 'seen';
    });
    await connected();
    const url = 'https://cdn.discordapp.com/attachments/1/2/plan.pdf?ex=1';
    const file = {
      id: '3',
      filename: 'plan.pdf',
      url,
      proxy_url: url,
      size: 9,
      content_type: 'application/pdf',
    };
    guild.say({ content: '', channelId: direct, userId: admin, to: botId, attachments: [file] });
    await waitFor(() => guild.posts.length === 1);
    expect(heard).toMatchObject([
      {
        text: 'Look at what I attached.',
        files: [{ uri: url, name: 'plan.pdf', mediaType: 'application/pdf' }],
      },
    ]);
  });

  it('hands on what people with an account say, and tells strangers how to get one', async () => {
    const told: boolean[] = [];
    await open(async ({ text, author }) => `${author} said ${text}`, 'tok', {
      admits: (author) => author === '500000000000000003',
      notice: ({ isDirect }) => {
        const isFirst = isDirect && !told.includes(true);
        told.push(isDirect);
        return isFirst ? 'Your code is X.' : undefined;
      },
    });
    await connected();
    sayDirectly('let me in', stranger);
    sayDirectly('let me in!', stranger);
    guild.say({ content: `<@${botId}> hey`, channelId: general, userId: stranger, mentions: [botId] });
    sayDirectly('hello', '500000000000000003');
    await waitFor(() => guild.posts.length === 2);
    expect(sent()).toEqual(['Your code is X.', '500000000000000003 said hello']);
    await waitFor(() => told.length === 3);
    expect(told.toSorted()).toEqual([false, true, true]);
    expect(logged.filter((line) => line.includes('not delivered'))).toHaveLength(3);
  });

  it('goes on with no conversation of somebody else, and says so', async () => {
    const home = temporaryDirectory();
    const database = openState(home.path);
    onTestFinished(() => {
      database.close();
      home.remove();
    });
    const sessions = new SessionStore(database);
    sessions.claim(`chat:${direct}`, 'person:voice:ava');
    const owners = createOwners(() => ({ isShared: false, isOpen: false }));
    const person = { kind: 'person' as const, id: `chat:${admin}`, via: [] };
    const heard: string[] = [];
    await open(
      chatInbound(
        () => person,
        canContinue({ owners }, { sessions }),
        async ({ text }) => {
          heard.push(text);
          return 'Done.';
        },
      ),
    );
    await connected();
    sayDirectly('go on');
    guild.say({ content: `<@${botId}> hello`, channelId: general, userId: admin, mentions: [botId] });
    await waitFor(() => guild.posts.length === 2);
    expect(sent().toSorted()).toEqual(['Done.', notYours]);
    expect(heard).toEqual(['hello']);
  });

  it('resumes where it was when the connection is lost', async () => {
    await open(async ({ text }) => `heard ${text}`);
    await connected();
    guild.cut();
    sayDirectly('while you were away');
    await waitFor(() => sent().includes('heard while you were away'));
    expect(guild.resumes).toBe(1);
    expect(logged).toContain('chat gateway lost; reconnecting');
  });

  it('starts a new session when the old one is invalid', async () => {
    await open(async () => 'hi');
    await connected();
    guild.loseSessions();
    await waitFor(() => guild.identifies === 2, { timeoutMs: 60_000 });
    sayDirectly('still there?');
    await waitFor(() => sent().includes('hi'));
  });

  it('leaves out what it cannot read', async () => {
    await open(async () => 'hi');
    await connected();
    guild.emit('MESSAGE_CREATE', { id: '1300000000000000000', channel_id: direct });
    guild.emit('MESSAGE_CREATE', {
      id: '1300000000000000001',
      channel_id: direct,
      channel_type: 1,
      author: { id: admin, username: 'ada' },
      content: 5,
    });
    sayDirectly('well?');
    await waitFor(() => sent().includes('hi'));
    expect(logged).toContain('failed to read a chat message');
  });

  it('retries when the platform cannot be reached at first', async () => {
    guild.server.fail('GET /api/v10/gateway/bot', { status: 500, body: {} }, 10);
    await open(async () => 'hi');
    await waitFor(() => logged.includes('failed to connect to the chat gateway; retrying'));
    await connected();
  });

  it('gives up on a token that is refused', async () => {
    await open(async () => 'hi', 'wrong');
    await waitFor(() => logged.some((message) => message.includes('check CHAT_BOT_TOKEN')));
    expect(requests()).toHaveLength(1);
  });

  it('leaves while the gateway accepts nobody', async () => {
    guild.isMute = true;
    await open(async () => 'hi');
    await waitFor(() => guild.opened === 1);
    await plugins?.close();
    expect(guild.identifies).toBe(0);
  });

  it('goes on after an answer that failed', async () => {
    let isFirst = true;
    await open(async () => {
      if (isFirst) {
        isFirst = false;
        throw new Error('model is down');
      }
      return 'better now';
    });
    await connected();
    sayDirectly('a');
    sayDirectly('b');
    await waitFor(() => sent().includes('better now'));
    expect(logged).toContain('failed to answer a chat message');
  });

  it('drops messages of a channel in which too many wait', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    await open(() => promise);
    await connected();
    for (let index = 0; index < 7; index += 1) sayDirectly(`message ${index}`);
    await waitFor(() => logged.filter((message) => message.startsWith('chat message dropped')).length === 2);
    resolve('done');
    await waitFor(() => guild.posts.length === 5);
  });
});
