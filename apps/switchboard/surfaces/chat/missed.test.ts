import { FakeGuild, type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';

const botId = '600000000000000001';
const [bound, modLog, digest] = ['700000000000000088', '700000000000000004', '700000000000000002'];
const minuteMs = 60_000;
const files = {
  'channels.yaml': `channels: [{ id: bound, platform: chat, channelId: "${bound}", agent: nobody }]`,
  'chat.yaml': `channels: { modLog: "${modLog}", digest: "${digest}" }
moderation: { rateLimit: { maxMessages: 2, windowSeconds: 60 } }`,
};

let [guild, home] = [] as unknown as [FakeGuild, TemporaryDirectory];
let board: TestSwitchboard;

beforeEach(async () => {
  guild = await FakeGuild.start({ 'main-token': { id: botId, name: 'trunk' } });
  home = temporaryDirectory();
});
afterEach(async () => {
  await board.stop();
  await guild.stop();
  home.remove();
});

async function run(): Promise<void> {
  const env = {
    CHAT_BOT_TOKEN: 'main-token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
    SWITCHBOARD_DELIVERY_RETRY_MS: '10',
  };
  board = await startSwitchboard({ files, env, home: home.path });
  await waitFor(() => guild.connected === 1);
}

let people = 0;
/** Somebody new each time, so that nobody is too fast. */
function say(content: string): void {
  people += 1;
  guild.say({ content, channelId: bound, userId: `5000000000000${String(people).padStart(5, '0')}` });
}

async function heard(): Promise<string[]> {
  const { body } = await board.call(`/api/bus/history?topic=message.inbound.chat.${bound}&limit=1000`);
  return body.data.messages.map(({ message }: { message: Json }) => message.payload.content);
}
const isHeard = (content: string) => waitFor(async () => (await heard()).includes(content));

describe('what was said while nobody listened', () => {
  it('is heard page after page, in its order', async () => {
    await run();
    say('before');
    await isHeard('before');
    await board.stop();
    const meanwhile = Array.from({ length: 230 }, (_, index) => `word ${index}`);
    for (const word of meanwhile) say(word);
    await run();
    await isHeard('word 229');
    expect(await heard()).toEqual(['before', ...meanwhile]);
  });

  it('is heard though the platform could not be asked at first, and though somebody speaks meanwhile', async () => {
    await run();
    say('before');
    await isHeard('before');
    await board.stop();
    say('meanwhile');
    guild.server.fail(`GET /api/v10/channels/${bound}/messages`, { status: 503, body: {} }, 3);
    await run();
    say('now');
    await isHeard('meanwhile');
    await isHeard('now');
    await board.stop();
    say('later');
    await run();
    await isHeard('later');
    expect((await heard()).toSorted()).toEqual(['before', 'later', 'meanwhile', 'now']);
  });

  it('is told where it is too much to be read', async () => {
    await run();
    say('before');
    await isHeard('before');
    await board.stop();
    guild.server.on('GET /api/v10/channels/:channel/messages', ({ query }) => {
      const after = BigInt(query.get('after') ?? 0);
      const author = { id: '500000000000000001', username: 'flood', bot: true };
      const messages = Array.from({ length: 100 }, (_, index) => ({
        id: String(after + BigInt(index + 1)),
        channel_id: bound,
        content: 'noise',
        author,
        mentions: [],
      }));
      return { body: messages };
    });
    await run();
    const line = await waitFor(() => board.log.find((each) => each.includes('were not read')));
    expect(line).toContain(bound);
    const alert = await waitFor(() => guild.posts.find(({ content }) => content.includes('were not read')));
    expect(alert.channelId).toBe(digest);
  });
});

describe('a limit of messages', () => {
  const speak = (content: string) => guild.say({ content, channelId: bound, userId: '500000000000000001' });

  it('counts by when they were said, not by when they are read', async () => {
    const start = Date.now() - 60 * minuteMs;
    guild.now = () => start;
    await run();
    speak('first');
    await isHeard('first');
    await board.stop();
    for (const minutes of [10, 20, 30, 40]) {
      guild.now = () => start + minutes * minuteMs;
      speak(`after ${minutes}`);
    }
    await run();
    await isHeard('after 40');
    expect(await heard()).toEqual(['first', 'after 10', 'after 20', 'after 30', 'after 40']);
  });

  it('holds for what was refused also after a restart', async () => {
    await run();
    for (const word of ['one', 'two', 'three']) speak(word);
    await waitFor(() => guild.posts.find(({ content }) => content.includes('came too fast')));
    await board.stop();
    await run();
    say('somebody else');
    await isHeard('somebody else');
    expect(await heard()).toEqual(['one', 'two', 'somebody else']);
  });
});
