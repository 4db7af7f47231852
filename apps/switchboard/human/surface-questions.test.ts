import {
  FakeGuild,
  type ModelServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const botId = '600000000000000001';
const directory = temporaryDirectory();
let [guild, model, board] = [] as unknown as [FakeGuild, ModelServer, TestSwitchboard];

beforeAll(async () => {
  guild = await FakeGuild.start({ token: { id: botId, name: 'trunk' } });
  // Asks before it reviews, and then says what it heard.
  model = await startModelServer({
    script: ({ messages }) => {
      const told = messages.slice(messages.findIndex(({ role }) => role === 'tool'));
      return told.length < messages.length && told[0]?.role === 'tool'
        ? `Verdict: comment\nI was told: ${told.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))).join(' ')}`
        : { toolCalls: [{ name: 'ask_human', arguments: { question: 'Merge before Friday?' } }] };
    },
  });
  const env = {
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    CHAT_BOT_TOKEN: 'token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
  };
  const files = {
    'agents/helm.yaml': agent(
      'helm',
      'role: general\ntools: [get_incidents]\nskills: [{ name: chat }, { name: pr_review }]',
    ),
  };
  board = await startSwitchboard({ env, files, home: directory.path });
  await waitFor(() => guild.connected === 1);
});
afterAll(async () => {
  await board.stop();
  await model.stop();
  await guild.stop();
  directory.remove();
});

const asked = (channelId: string) =>
  waitFor(() =>
    guild.posts.find((post) => post.channelId === channelId && post.content.includes('Merge before Friday?')),
  );

describe('a question of an agent', () => {
  it('is put to the person who talks with it, and the next thing they say is the answer', async () => {
    guild.say({ content: `<@${botId}> review it`, channelId: '700000000000000001', mentions: [botId] });
    await asked('700000000000000001');
    guild.say({
      content: `<@${botId}> nobody asked me`,
      channelId: '700000000000000001',
      userId: '500000000000000009',
      mentions: [botId],
    });
    guild.say({
      content: `<@${botId}> yes, on Thursday`,
      channelId: '700000000000000001',
      mentions: [botId],
    });
    await waitFor(() => guild.posts.some(({ content }) => content.includes('I was told: yes, on Thursday')));
    expect(guild.posts.some(({ content }) => content.includes('I was told: nobody'))).toBe(false);
  });

  it('may be answered with a file, which the agent reads', async () => {
    const channelId = '700000000000000002';
    guild.say({ content: `<@${botId}> review it`, channelId, mentions: [botId] });
    await asked(channelId);
    const attachments = [guild.keepFile('notes.txt', 'text/plain', Buffer.from('Not before Monday.'))];
    guild.say({ content: `<@${botId}>`, channelId, mentions: [botId], attachments });
    const isTold = ({ content }: { content: string }) => /I was told:.*Not before Monday\./s.test(content);
    await waitFor(() => guild.posts.some(isTold));
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('With the answer came notes.txt');
  });

  it('may be answered with a picture, which the model sees and nobody gets back', async () => {
    const channelId = '700000000000000003';
    guild.say({ content: `<@${botId}> review it`, channelId, mentions: [botId] });
    await asked(channelId);
    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
      'base64',
    );
    const attachments = [guild.keepFile('chart.png', 'image/png', picture)];
    guild.say({ content: `<@${botId}> see here`, channelId, mentions: [botId], attachments });
    const answer = await waitFor(() =>
      guild.posts.find(({ content }) => /I was told:.*chart\.png/s.test(content)),
    );
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toContainEqual({
      type: 'image_url',
      image_url: { url },
    });
    expect(answer.files).toBeUndefined();
  });
});
