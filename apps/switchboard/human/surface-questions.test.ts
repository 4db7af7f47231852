import {
  FakeGitHub,
  FakeGuild,
  JsonServer,
  type ModelServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const botId = '600000000000000001';
const dev = '700000000000000077';
const secret = 'hook-secret';
const directory = temporaryDirectory();
const registryServer = new JsonServer();
let [guild, github, model, board] = [] as unknown as [FakeGuild, FakeGitHub, ModelServer, TestSwitchboard];
let start: () => Promise<TestSwitchboard>;

beforeAll(async () => {
  guild = await FakeGuild.start({ token: { id: botId, name: 'trunk' } });
  github = await FakeGitHub.start({ token: 'code-token' });
  // Asks before it reviews, and then says what it heard.
  model = await startModelServer({
    script: ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool'
        ? `Verdict: comment\nI was told: ${last.content}`
        : { toolCalls: [{ name: 'ask_human', arguments: { question: 'Merge before Friday?' } }] };
    },
  });
  const registry = {
    projects: [
      {
        id: 'rail',
        name: 'Rail',
        path: '/srv/rail',
        github: { owner: 'acme', repo: 'rail' },
        defaultBranch: 'main',
      },
    ],
  };
  registryServer.on('GET /projects', () => ({ body: registry }));
  await registryServer.listen();
  const env = {
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    CHAT_BOT_TOKEN: 'token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
    CODEHOST_TOKEN: 'code-token',
    CODEHOST_WEBHOOK_SECRET: secret,
    CODEHOST_WEBHOOK_PORT: '0',
    CODEHOST_API_URL: github.url,
    PROJECT_REGISTRY_URL: `${registryServer.url}/projects`,
  };
  const files = {
    'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }, { name: pr_review }]'),
    'codehost.yaml': 'skillHints: { pull_request: pr_review }',
    'channels.yaml': `channels: [{ id: dev, platform: chat, channelId: "${dev}", project: rail, kind: dev }]`,
  };
  start = () => startSwitchboard({ env, files, home: directory.path });
  board = await start();
  await waitFor(() => guild.connected === 1);
  await waitFor(async () => (await board.call('/api/projects')).body.data?.length > 0 || undefined);
});
afterAll(async () => {
  await board.stop();
  await model.stop();
  await github.stop();
  await guild.stop();
  await registryServer.stop();
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

  it('about a pull request is put in the chat of its project, and answered there after a restart of the whole process', async () => {
    const pull_request = {
      number: 12,
      title: 'Mend it',
      html_url: 'https://x/12',
      head: { ref: 'mend', sha: 'abc' },
      base: { ref: 'main' },
    };
    const repository = { name: 'rail', full_name: 'acme/rail', owner: { login: 'acme' } };
    const payload: Json = { action: 'opened', pull_request, repository, sender: { login: 'ada' } };
    await github.deliver(`${board.url}/webhook/codehost`, 'pull_request', payload, { secret });
    await asked(dev);
    await board.stop();
    board = await start();
    await waitFor(async () => (await board.call('/api/hitl/pending')).body.data.length > 0 || undefined);
    await waitFor(() => guild.connected === 1);
    guild.say({
      content: `<@${botId}> after Friday`,
      channelId: dev,
      userId: '500000000000000005',
      mentions: [botId],
    });
    const review = await waitFor(() => github.posts.find(({ kind }) => kind === 'review'), {
      timeoutMs: 30_000,
    });
    expect(review.body).toContain('I was told: after Friday');
    expect(
      guild.posts.filter(({ channelId, content }) => channelId === dev && content.includes('Merge')),
    ).toHaveLength(1);
  }, 60_000);
});
