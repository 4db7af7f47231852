import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  FakeGitHub,
  FakeGuild,
  JsonServer,
  type ModelServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFleet, type Fleet } from './fleet.ts';

const bot = '600000000000000001';
const channel = '700000000000000077';
const person = '500000000000000005';
const secret = 'hook-secret';
const patience = { timeoutMs: 60_000 };

const workspace = {
  'agents/helm.yaml':
    'name: helm\nrole: general\nsystemPrompt: You review.\nskills: [{ name: chat }, { name: pr_review }]',
  'codehost.yaml': 'skillHints: { pull_request: pr_review }',
  'channels.yaml': `channels: [{ id: dev, platform: chat, channelId: "${channel}", project: rail, kind: dev, trustMembers: true }]`,
};
const projects = [
  {
    id: 'rail',
    name: 'Rail',
    path: '/srv/rail',
    github: { owner: 'acme', repo: 'rail' },
    defaultBranch: 'main',
  },
];
const opened = {
  action: 'opened',
  pull_request: {
    number: 12,
    title: 'Mend it',
    html_url: 'https://x/12',
    head: { ref: 'mend', sha: 'abc' },
    base: { ref: 'main' },
  },
  repository: { name: 'rail', full_name: 'acme/rail', owner: { login: 'acme' } },
  sender: { login: 'ada' },
};

const home = temporaryDirectory();
const registry = new JsonServer();
let [guild, github, model, fleet] = [] as unknown as [FakeGuild, FakeGitHub, ModelServer, Fleet];

beforeEach(async () => {
  guild = await FakeGuild.start({ token: { id: bot, name: 'trunk' } });
  github = await FakeGitHub.start({ token: 'code-token' });
  model = await startModelServer({
    script: ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool'
        ? `Verdict: comment\nI was told: ${last.content}`
        : { toolCalls: [{ name: 'ask_human', arguments: { question: 'Merge before Friday?' } }] };
    },
  });
  registry.on('GET /projects', () => ({ body: { projects } }));
  await registry.listen();
  for (const [path, text] of Object.entries(workspace)) {
    const file = join(home.path, 'switchboard/workspace', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const environment = {
    CHAT_BOT_TOKEN: 'token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
    CODEHOST_TOKEN: 'code-token',
    CODEHOST_WEBHOOK_SECRET: secret,
    CODEHOST_WEBHOOK_PORT: '0',
    CODEHOST_API_URL: github.url,
    PROJECT_REGISTRY_URL: `${registry.url}/projects`,
  };
  fleet = await createFleet({ home: home.path, modelUrl: model.url, environment });
});
afterEach(async () => {
  await fleet.kill();
  await Promise.all([guild.stop(), github.stop(), model.stop(), registry.stop()]);
  home.remove();
});

/** As the operator: questions about a pull request are not everybody's. */
const board = async (path: string) => {
  const headers = { 'x-operator-key': readFileSync(join(home.path, 'operator-key'), 'utf8').trim() };
  return (await fetch(`${fleet.urls.switchboard}${path}`, { headers })).json();
};

it('journey 2: a pull request is reviewed after a person was asked in the chat, though the process died meanwhile', async () => {
  await fleet.start();
  await waitFor(() => guild.connected === 1, patience);
  await waitFor(async () => (await board('/api/projects')).data.length > 0, patience);
  await github.deliver(`${fleet.urls.switchboard}/webhook/codehost`, 'pull_request', opened, { secret });
  await waitFor(() => questions().length > 0, patience);

  await fleet.kill();
  await fleet.start();
  await waitFor(async () => (await board('/api/hitl/pending')).data.length > 0, patience);
  await waitFor(() => guild.connected === 1, patience);
  guild.say({ content: `<@${bot}> after Friday`, channelId: channel, userId: person, mentions: [bot] });
  const review = await waitFor(() => github.posts.find(({ kind }) => kind === 'review'), patience);
  expect(review.body).toContain('I was told: after Friday');
  expect(questions()).toHaveLength(1);
  expect(github.posts.filter(({ kind }) => kind === 'review')).toHaveLength(1);
});

function questions() {
  return guild.posts.filter(({ channelId, content }) => channelId === channel && content.includes('Merge'));
}
