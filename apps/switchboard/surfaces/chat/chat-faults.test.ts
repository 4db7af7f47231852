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
import type { PluginContext } from '../../core/plugins.ts';
import { agent } from '../../fixtures/crew.ts';
import { startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';
import type { ChatOptions } from './options.ts';
import { chatSurface } from './surface.ts';

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
  'chat.yaml': `commands: [{ name: status, description: Tells, subcommands: [] }]
moderation: { spamPatterns: ["free *money"] }`,
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

function environment() {
  return {
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    CHAT_BOT_TOKEN: 'main-token',
    ADA_BOT_TOKEN: 'ada-token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
    SWITCHBOARD_DELIVERY_RETRY_MS: '10',
  };
}

async function run(): Promise<void> {
  board = await startSwitchboard({ files, env: environment(), home: home.path });
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

describe('the note of what an agent does, further', () => {
  it('takes the answer also when that fails at first, and calls nobody but people', async () => {
    await run();
    useTool();
    guild.server.fail('PATCH /api/v10/channels', { status: 502, body: {} });
    guild.say({ content: `<@${botId}> look`, channelId: general, mentions: [botId] });
    expect(await posted('heard')).toMatchObject({ edited: true, allowed: ['users'] });
    expect(guild.posts).toHaveLength(1);
  });

  it('takes the answer after a restart in between', async () => {
    await run();
    useTool();
    model.enqueue({ fault: 'stall' });
    guild.say({ content: `<@${botId}> look`, channelId: general, mentions: [botId] });
    await posted('Working');
    await board?.stop();
    await run();
    expect(await posted('heard')).toMatchObject({ edited: true });
    expect(guild.posts).toHaveLength(1);
  });
});

describe('the rules of a server', () => {
  it("hold for what is said to an agent's own bot", async () => {
    await run();
    const spam = `<@${adaBotId}> free money`;
    const id = guild.say({ content: spam, channelId: general, mentions: [adaBotId] });
    await waitFor(() => guild.deleted.includes(id));
    guild.say({ content: `<@${adaBotId}> now`, channelId: general, mentions: [adaBotId] });
    await posted('heard now');
    expect(guild.posts.some(({ content }) => content.includes('money'))).toBe(false);
  });
});

describe('a gateway that is not well', () => {
  it('may refuse a bot, which the connector then shows until it is let in', async () => {
    guild.server.fail('GET /api/v10/gateway/bot', { status: 401, body: { message: '401: Unauthorized' } });
    board = await startSwitchboard({ files, env: environment(), home: home.path });
    const chat = async () => {
      const { body } = await (board as TestSwitchboard).call('/operator/setup/connectors');
      return body.connectors.find(({ name }: { name: string }) => name === 'chat');
    };
    await waitFor(async () => (await chat()).state === 'failed');
    expect((await chat()).words).toMatch(/cannot sign in: .*invalid token.*Check/);
    // A change of the workspace signs missing bots in at once.
    board.write('channels.yaml', 'channels: []');
    await waitFor(async () => (await chat()).state === 'running');
  });

  it('may send nonsense', async () => {
    await run();
    guild.emit('MESSAGE_CREATE', { id: '1300000000000000000', channel_id: general });
    guild.say({ content: `<@${botId}> still there`, channelId: general, mentions: [botId] });
    await posted('heard still there');
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
    const options = { chatBotToken: 'main-token', chatApiUrl: guild.url } as ChatOptions;
    const workspace = {
      agents: () => [],
      externalAgents: () => [],
      channels: () => [],
      chat: () => ({ channels: { welcome: '', digest: '', modLog: '' }, commands: [], moderation: {} }),
      onChange: () => () => undefined,
    };
    const context = {
      bus: { subscribe: async () => subscription, memory: async () => ({}) },
      home: home.path,
      logger: quiet,
      options,
      workspace,
      env: {},
    } as unknown as PluginContext;
    const deliveries = { open: async () => async () => undefined } as never;
    const surface = chatSurface.create(options, {
      deliveries,
      leader,
      projects: { list: () => [] } as never,
    });
    await surface.start?.(context);
    tell(1);
    await waitFor(() => guild.connected === 1);
    tell(undefined);
    await Promise.resolve();
    tell(2);
    await waitFor(() => guild.identifies === 2 && guild.connected === 1);
    await surface.stop?.();
  });
});
