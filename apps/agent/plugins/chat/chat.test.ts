import { FakeDiscord, waitFor } from '@trunkline/testing';
import { splitMessage } from '@trunkline/tools';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callTool } from '../../tools/call-tool.suite.ts';
import { type OpenPlugins, openPlugins } from '../open-plugins.ts';
import type { Inbound } from '../plugin.ts';
import { createChatPlugin } from './chat-plugin.ts';

let discord: FakeDiscord;
let plugins: OpenPlugins | undefined;
let said: string[] = [];
const log = (_fields: object, message: string) => void said.push(message);
const logger = { info: log, warn: log, error: log };

async function open(inbound?: Inbound, token: string | undefined = 'tok') {
  const plugin = createChatPlugin({
    token,
    adminIds: ['1'],
    url: discord.url,
    gatewayUrl: discord.gatewayUrl,
    retryMs: 5,
  });
  plugins = await openPlugins([plugin], { enabled: ['chat'], disabled: [] }, { logger, inbound });
  return plugins;
}
const call = (name: string, input: object) =>
  callTool(plugins!.tools.find((tool) => tool.name === name)!, input);

beforeEach(async () => {
  said = [];
  discord = await FakeDiscord.start({ token: 'tok', heartbeatMs: 20 });
});
afterEach(async () => {
  await plugins?.close();
  plugins = undefined;
  await discord.stop();
});

const message = (id: string, content = `m${id}`) => ({
  id,
  channel_id: '5',
  content,
  timestamp: `2026-01-01T00:00:${id.padStart(2, '0')}Z`,
  author: { id: '1', username: 'ada' },
  mentions: [] as { id: string }[],
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
    const sent = discord.requests.slice(1).map(({ body }) => (body as { content: string }).content);
    expect(sent.join('\n')).toBe(lines.join('\n'));
    expect(sent.every(({ length }) => length <= 2000)).toBe(true);
    expect(discord.requests[0]).toMatchObject({
      method: 'POST',
      path: '/channels/5/messages',
      authorization: 'Bot tok',
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
    discord.messages.push(message('1'), message('3'), message('2'));
    expect(await call('chat_read', { channel_id: '5' })).toBe(
      '[3] 2026-01-01T00:00 ada: m3\n[2] 2026-01-01T00:00 ada: m2\n[1] 2026-01-01T00:00 ada: m1',
    );
    await call('chat_read', { channel_id: '5', limit: 500 });
    await call('chat_read', { channel_id: '5', limit: 0 });
    expect(discord.requests.map(({ path }) => path.split('?')[1])).toEqual([
      'limit=20',
      'limit=100',
      'limit=1',
    ]);
    expect(await call('chat_read', { channel_id: '6' })).toBe('No messages.');
  });

  it('say when the rate is limited [A096]', async () => {
    await open();
    discord.refusals.push({ status: 429, body: { message: 'slow', retry_after: 1.25 } });
    expect(await call('chat_read', { channel_id: '5' })).toBe(
      'Error: The chat limits the rate: retry_after 1.25',
    );
    discord.refusals.push({ status: 200, body: {} }, { status: 429, body: { retry_after: 2 } });
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
    expect(discord.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PUT /channels/5/messages/9/reactions/%F0%9F%91%8D/@me',
      'PUT /channels/5/messages/9/reactions/party%3A123/@me',
    ]);
  });

  it.each(['5/../6', 'general', '', '5?x=1'])('take "%s" for no channel', async (channel_id) => {
    await open();
    await expect(call('chat_read', { channel_id })).rejects.toThrow(z.ZodError);
  });
});

describe('the bot', () => {
  const sent = () => discord.requests.map(({ body }) => (body as { content: string }).content);
  const isReady = () =>
    discord.received.some(({ op }) => op === 2) && said.includes('the chat gateway is open');

  it('answers mentions, and direct messages of those who may write [A064]', async () => {
    const heard: unknown[] = [];
    await open(async (inbound) => {
      heard.push(inbound);
      return `you said ${inbound.text}`;
    });
    await waitFor(isReady);
    const stranger = { id: '2', username: 'eve' };
    discord.dispatch('MESSAGE_CREATE', { ...message('1', 'let me in'), author: stranger });
    discord.dispatch('MESSAGE_CREATE', { ...message('2', 'not for you'), guild_id: '7' });
    discord.dispatch('MESSAGE_CREATE', {
      ...message('3', 'beep'),
      author: { ...stranger, id: '1', bot: true },
    });
    discord.dispatch('MESSAGE_CREATE', message('4', 'direct'));
    discord.dispatch('MESSAGE_CREATE', {
      ...message('5', '<@999> in public'),
      author: stranger,
      guild_id: '7',
      mentions: [{ id: '999' }],
    });
    await waitFor(() => discord.requests.length === 2);
    expect(sent()).toEqual(['you said direct', 'you said in public']);
    expect(heard[0]).toEqual({ text: 'direct', source: 'chat', contextId: 'chat:5', author: '1' });
  });

  it('beats, and resumes where it was when the line is lost', async () => {
    await open(async () => 'hi');
    await waitFor(() => isReady() && discord.received.some(({ op }) => op === 1));
    discord.dropGateway();
    await waitFor(() => discord.received.some(({ op }) => op === 6));
    expect(discord.received.find(({ op }) => op === 6)?.d).toMatchObject({
      session_id: 'session-1',
      seq: expect.any(Number),
    });
    await waitFor(() => discord.connections === 2);
    discord.dispatch('MESSAGE_CREATE', message('4', 'still there?'));
    await waitFor(() => sent().includes('hi'));
  });

  it('leaves a server that no longer answers its beats, or asks it to come again', async () => {
    await open(async () => 'hi');
    await waitFor(isReady);
    discord.acknowledges = false;
    await waitFor(() => discord.connections >= 2);
    discord.acknowledges = true;
    const before = discord.connections;
    discord.broadcast({ op: 7, d: null });
    await waitFor(() => discord.connections > before);
  });

  it('leaves out what it cannot read', async () => {
    await open(async () => 'hi');
    await waitFor(isReady);
    discord.broadcast({ op: 'x' } as never);
    discord.dispatch('MESSAGE_CREATE', { content: 5 });
    discord.dispatch('MESSAGE_CREATE', message('4', 'well?'));
    await waitFor(() => sent().includes('hi'));
    expect(said.filter((words) => words.includes('cannot be read'))).toHaveLength(2);
  });

  it('begins a new session when the old one is void', async () => {
    await open(async () => 'hi');
    await waitFor(isReady);
    discord.broadcast({ op: 9, d: false });
    await waitFor(() => discord.received.filter(({ op }) => op === 2).length === 2);
  });

  it('gives up on a token that is refused', async () => {
    await open(async () => 'hi', 'wrong');
    await waitFor(() => said.some((words) => words.includes('check CHAT_BOT_TOKEN')));
    expect(discord.connections).toBe(1);
  });

  it('goes on after an answer that failed', async () => {
    let first = true;
    await open(async () => {
      if (first) {
        first = false;
        throw new Error('model is down');
      }
      return 'better now';
    });
    await waitFor(isReady);
    discord.dispatch('MESSAGE_CREATE', message('1', 'a'));
    discord.dispatch('MESSAGE_CREATE', message('2', 'b'));
    await waitFor(() => sent().includes('better now'));
    expect(said).toContain('a chat message could not be answered');
  });
});
