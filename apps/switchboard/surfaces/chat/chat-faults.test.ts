import {
  FakeGuild,
  type ModelServer,
  startModelServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Leader } from '../../cluster/leader.ts';
import type { PluginContext } from '../../core/plugin.ts';
import { agent } from '../../fixtures/crew.ts';
import { startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';
import { createChatSurface } from './surface.ts';

const [botId, adaBotId] = ['600000000000000001', '600000000000000002'];
const [general, gone, bound] = ['700000000000000077', '700000000000000078', '700000000000000088'];
const files = {
  'agents/helm.yaml': agent('helm', 'role: general\ntools: [get_incidents]\nskills: [{ name: chat }]'),
  'agents/ada.yaml': agent(
    'ada',
    'role: general\ntools: [get_incidents]\nchatBotTokenEnvKey: ADA_BOT_TOKEN\nskills: [{ name: maths }]',
  ),
  'channels.yaml': `channels:
  - { id: gone, platform: chat, channelId: "${gone}", agent: helm }
  - { id: bound, platform: chat, channelId: "${bound}", agent: helm }`,
  'chat.yaml': 'commands: [{ name: status, description: Tells, subcommands: [] }]',
};

let [guild, model, home] = [] as unknown as [FakeGuild, ModelServer, TemporaryDirectory];
let board: TestSwitchboard | undefined;

beforeEach(async () => {
  guild = await FakeGuild.start({
    'main-token': { id: botId, name: 'trunk' },
    'ada-token': { id: adaBotId, name: 'ada' },
  });
  model = await startModelServer({ script: ({ messages }) => `heard ${messages.at(-1)?.content}` });
  home = temporaryDirectory();
});
afterEach(async () => {
  await board?.stop();
  await model.stop();
  await guild.stop();
  home.remove();
});

async function run(): Promise<void> {
  const env = {
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    CHAT_BOT_TOKEN: 'main-token',
    ADA_BOT_TOKEN: 'ada-token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
    SWITCHBOARD_DELIVERY_RETRY_MS: '10',
  };
  board = await startSwitchboard({ files, env, home: home.path });
  await waitFor(() => guild.connected === 2);
}

const posted = (content: string) => waitFor(() => guild.posts.find((post) => post.content.includes(content)));
const useTool = () => model.enqueue({ toolCalls: [{ name: 'get_incidents', arguments: {} }] });

describe('the note of what an agent does', () => {
  it("is written by the agent's own bot, which can put the answer in its place", async () => {
    await run();
    useTool();
    guild.say({ content: `<@${adaBotId}> look`, channelId: general, mentions: [adaBotId] });
    expect(await posted('heard')).toMatchObject({ author: 'ada', edited: true });
    expect(guild.posts).toHaveLength(1);
  });

  it('may be deleted by somebody: the answer is then posted anew', async () => {
    await run();
    useTool();
    guild.server.fail('PATCH /api/v10/channels', {
      status: 404,
      body: { message: 'Unknown Message', code: 10_008 },
    });
    guild.say({ content: `<@${botId}> look`, channelId: general, mentions: [botId] });
    expect(await posted('heard')).toMatchObject({ author: 'trunk' });
  });
});

describe('what was said while nobody listened', () => {
  it('is heard in one channel though another is gone and the commands are refused', async () => {
    await run();
    for (const channelId of [gone, bound]) guild.say({ content: `first in ${channelId}`, channelId });
    await posted(`heard first in ${gone}`);
    await posted(`heard first in ${bound}`);
    await board?.stop();
    guild.say({ content: 'meanwhile', channelId: bound });
    guild.server.fail(`GET /api/v10/channels/${gone}/messages`, {
      status: 404,
      body: { message: 'Unknown Channel', code: 10_003 },
    });
    guild.server.fail('PUT /api/v10/applications', {
      status: 400,
      body: { message: 'Invalid Form Body', code: 50_035 },
    });
    await run();
    await posted('heard meanwhile');
  });
});

describe('a switchboard that stops and begins to lead in one moment', () => {
  it('listens', async () => {
    let tell: (term: number | undefined) => void = () => undefined;
    const leader = { onChange: (listener: typeof tell) => (tell = listener) } as unknown as Leader;
    const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const subscription = { unsubscribe: async () => undefined };
    const options = { chatBotToken: 'main-token', chatApiUrl: guild.url } as PluginContext['options'];
    const workspace = {
      agents: () => [],
      externalAgents: () => [],
      channels: () => [],
      chat: () => ({ channels: { welcome: '', digest: '', modLog: '' }, commands: [], moderation: {} }),
      onChange: () => () => undefined,
    };
    const context = {
      bus: { subscribe: async () => subscription },
      home: home.path,
      logger: quiet,
      options,
      workspace,
      env: {},
    } as unknown as PluginContext;
    const desk = { open: async () => async () => undefined } as never;
    const surface = createChatSurface(options, { desk, leader, projects: { list: () => [] } as never });
    await surface.start?.(context);
    tell(1);
    await waitFor(() => guild.connected === 1);
    tell(undefined);
    await Promise.resolve();
    tell(2);
    await waitFor(() => guild.identifies === 2 && guild.connected === 1);
    await surface.stop?.();
  }, 30_000);
});
