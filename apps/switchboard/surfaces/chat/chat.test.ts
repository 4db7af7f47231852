import {
  dmChannel,
  FakeGuild,
  type ModelServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { agent } from '../../fixtures/crew.ts';
import { type Observer, observe } from '../../fixtures/observe.ts';
import { pair } from '../../fixtures/pair.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';

const botId = '600000000000000001';
const adaBotId = '600000000000000002';
const user = '500000000000000001';
const general = '700000000000000077';
const [bound, gallery] = ['700000000000000088', '700000000000000099'];
const [alerts, digest, welcome, modLog] = [
  '700000000000000001',
  '700000000000000002',
  '700000000000000003',
  '700000000000000004',
];
const files = {
  'agents/helm.yaml': agent(
    'helm',
    'role: general\ntools: [get_incidents]\nskills: [{ name: chat }, { name: report }]',
  ),
  'agents/ada.yaml': agent(
    'ada',
    'role: general\nchatBotTokenEnvKey: ADA_BOT_TOKEN\nskills: [{ name: maths }]',
  ),
  'channels.yaml': `channels:
  - { id: bound, platform: chat, channelId: "${bound}", agent: ada }
  - { id: alarm, platform: chat, channelId: "${alerts}", project: rail, kind: alerts }`,
  'chat.yaml': `channels: { digest: "${digest}", welcome: "${welcome}", modLog: "${modLog}" }
moderation: { rateLimit: { maxMessages: 3, windowSeconds: 3600 }, spamPatterns: ["free *money"] }
commands:
  - name: status
    description: Tells how things are
    subcommands:
      - name: of
        description: Of a project
        content: "Status of {project}, please"
        skillHint: report
        options:
          - { name: project, description: Which, type: string, required: true }
          - { name: agent, description: By whom, autocomplete: true }
          - { name: days, description: How far back, type: integer }
  - name: onboard
    description: Brings a project online
    subcommands:
      - name: project
        description: A project
        content: ""
        options: [{ name: slug, description: Slug, required: true }, { name: title, description: Title }, { name: github, description: Repository }]`,
};
let [guild, model, board, seen] = [] as unknown as [FakeGuild, ModelServer, TestSwitchboard, Observer];
let env: Record<string, string>;
/** The words of a message; with files it has parts. */
const spoken = (content: unknown) =>
  Array.isArray(content) ? content.map((part) => part.text ?? part.type).join('\n') : content;

beforeAll(async () => {
  guild = await FakeGuild.start({
    'main-token': { id: botId, name: 'trunk' },
    'ada-token': { id: adaBotId, name: 'ada' },
  });
  model = await startModelServer({
    script: ({ model: name, messages }) => `${name}: ${spoken(messages.at(-1)?.content)}`,
  });
  env = {
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    CHAT_BOT_TOKEN: 'main-token',
    ADA_BOT_TOKEN: 'ada-token',
    CHAT_GUILD_ID: guild.guildId,
    CHAT_API_URL: guild.url,
    SWITCHBOARD_DELIVERY_RETRY_MS: '10',
  };
  board = await startSwitchboard({ files, env });
  seen = await observe(board);
  await waitFor(() => guild.connected === 2 && guild.commands.length === 2);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await model.stop();
  await guild.stop();
});
let speaker = 100;
beforeEach(() => {
  guild.posts.length = 0;
  seen.messages.length = 0;
  speaker += 1;
  pair(board.home, [`discord:${somebody()}`]);
});

/** Somebody new each time, so that nobody is too fast. */
const somebody = () => `5000000000000${String(speaker).padStart(5, '0')}`;
const posted = (content: string) => waitFor(() => guild.posts.find((post) => post.content.includes(content)));
const publish = (topic: string, payload: Json) => board.call('/publish', { topic, payload });
const failed = (id: string) =>
  waitFor(async () => {
    const { body } = await board.call('/api/deliveries?state=failed&surface=chat');
    return body.data.deliveries.find((delivery: Json) => delivery.id === id);
  });

describe('what is said', () => {
  it('to the bot in a channel is answered there [S056] [S104] [S113]', async () => {
    guild.say({ content: `<@${botId}> hello`, channelId: general, userId: somebody(), mentions: [botId] });
    expect(await posted('model-of-helm: hello')).toMatchObject({ channelId: general, author: 'trunk' });
    expect(await seen.first(`message.inbound.chat.${general}`)).toMatchObject({
      payload: { content: 'hello', direct: false, mentioned: true },
      source: { interface: 'chat', channelId: general, userId: somebody() },
      reply: { topic: `message.outbound.chat.${general}` },
    });
  });

  it('in a direct message is answered in private', async () => {
    guild.say({ content: 'psst', channelId: dmChannel(somebody()), userId: somebody(), to: botId });
    expect(await posted('model-of-helm: psst')).toMatchObject({ channelId: dmChannel(somebody()) });
    expect((await seen.first('message.outbound.chat.dm.user.')).topic).toBe(
      `message.outbound.chat.dm.user.${somebody()}`,
    );
  });

  it('may be a file alone: the model sees it, and files of answers are posted', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const attachments = [guild.keepFile('dot.png', 'image/png', png)];
    guild.say({ content: '', channelId: dmChannel(somebody()), userId: somebody(), to: botId, attachments });
    await posted('Attached image dot.png');
    const chat = JSON.stringify(model.chats().at(-1));
    expect(chat).toContain(`data:image/png;base64,${png.toString('base64')}`);
    expect(chat).toContain('Look at what I attached.');
    const { payload } = await seen.first('message.inbound.chat.');
    await publish(`message.outbound.chat.${general}`, { content: 'here it is', files: payload.files });
    const post = await waitFor(() => guild.posts.find(({ files: sent }) => sent !== undefined));
    expect(post).toMatchObject({
      channelId: general,
      files: [{ name: 'dot.png', mediaType: 'image/png', bytes: png }],
    });
    expect(guild.posts.some(({ content }) => content === 'here it is')).toBe(true);
    const tooLarge = { status: 413, body: { message: 'Request entity too large', code: 40_005 } };
    guild.server.fail(`${gallery}/messages`, tooLarge, 2);
    const [dot] = payload.files;
    await publish(`message.outbound.chat.${gallery}`, { files: [dot, { ...dot, name: 'copy.png' }] });
    expect((await posted('did not take dot.png')).content).not.toContain('copy.png');
    const there = guild.posts.filter(({ channelId }) => channelId === gallery);
    expect(there.map(({ files: sent = [] }) => sent.map(({ name }) => name))).toEqual([['copy.png'], []]);
  });

  it('with a file that is slow to come holds up its own channel alone', async () => {
    const [held, headers] = [Promise.withResolvers<void>(), { 'content-type': 'text/plain' }];
    onTestFinished(() => held.resolve());
    const slow = guild.keepFile('slow.txt', 'text/plain', Buffer.from('?'));
    const { pathname } = new URL(slow.url);
    guild.server.on(`GET ${pathname}`, async () => {
      await held.promise;
      return { body: Buffer.from('here at last'), headers };
    });
    const channelId = dmChannel(somebody());
    guild.say({ content: 'read it', channelId, userId: somebody(), to: botId, attachments: [slow] });
    await waitFor(() => guild.server.requests.some(({ path }) => path === pathname));
    guild.say({ content: 'and I?', channelId: bound, userId: somebody() });
    await posted('model-of-ada: and I?').finally(held.resolve);
    expect(await posted('here at last')).toMatchObject({ channelId });
  });

  it('in the channel of an agent goes to that agent, without a mention', async () => {
    guild.say({ content: '2+2?', channelId: bound, userId: somebody() });
    expect(await posted('model-of-ada: 2+2?')).toMatchObject({ channelId: bound });
  });

  it("to an agent's own bot is answered by that bot [S043]", async () => {
    guild.say({ content: 'hi ada', channelId: dmChannel(somebody()), userId: somebody(), to: adaBotId });
    expect(await posted('model-of-ada: hi ada')).toMatchObject({
      author: 'ada',
      channelId: dmChannel(somebody()),
    });
  });

  it('to others, by bots, or as spam is left alone, and spam is deleted', async () => {
    guild.say({ content: 'just talking', channelId: general, userId: somebody() });
    const spam = guild.say({
      content: `<@${botId}> FREE  money`,
      channelId: general,
      userId: somebody(),
      mentions: [botId],
    });
    await waitFor(() => guild.deleted.includes(spam));
    expect(await posted('deleted as spam')).toMatchObject({ channelId: modLog });
    guild.say({ content: `<@${botId}> now`, channelId: general, userId: somebody(), mentions: [botId] });
    await posted('model-of-helm: now');
    expect(seen.messages.filter(({ topic }) => topic.startsWith('message.inbound'))).toHaveLength(1);
  });

  it('too fast is not heard [S156]', async () => {
    for (const word of ['one', 'two', 'three', 'four'])
      guild.say({
        content: `<@${botId}> ${word}`,
        channelId: general,
        userId: somebody(),
        mentions: [botId],
      });
    await posted('came too fast');
    await posted('model-of-helm: three');
    expect(guild.posts.some(({ content }) => content.includes('four'))).toBe(false);
  });

  it('while a line was cut or a session lost is heard once', async () => {
    guild.cut();
    guild.say({ content: 'in the dark', channelId: bound, userId: somebody() });
    await posted('model-of-ada: in the dark');
    const before = guild.identifies;
    guild.loseSessions();
    guild.say({ content: 'in the deep', channelId: bound, userId: somebody() });
    // The library waits some seconds before it begins a new session.
    await posted('model-of-ada: in the deep');
    expect(guild.identifies + guild.resumes).toBeGreaterThan(before);
    await waitFor(() => guild.connected === 2);
    guild.say({ content: 'at last', channelId: bound, userId: somebody() });
    await posted('model-of-ada: at last');
    const said = seen.messages
      .filter(({ topic }) => topic.startsWith('message.inbound'))
      .map(({ payload }) => payload.content);
    expect(said).toEqual(['in the dark', 'in the deep', 'at last']);
  });

  it('by a newcomer is welcomed', async () => {
    guild.join(somebody());
    expect(await posted(`Welcome, <@${somebody()}>`)).toMatchObject({ channelId: welcome });
  });

  it('shows what the agent does, and the answer takes its place', async () => {
    model.enqueue({ toolCalls: [{ name: 'get_incidents', arguments: {} }] });
    guild.say({ content: `<@${botId}> look`, channelId: general, userId: somebody(), mentions: [botId] });
    const answer = await posted('model-of-helm');
    expect(answer).toMatchObject({ channelId: general, edited: true });
    expect(guild.posts.filter(({ channelId }) => channelId === general)).toHaveLength(1);
  });
});

describe('slash commands', () => {
  it('are registered as chat.yaml has them, and again when it changes [S057]', async () => {
    expect(guild.commands[0]).toMatchObject({
      name: 'status',
      options: [
        {
          type: 1,
          name: 'of',
          options: [
            { type: 3, name: 'project', required: true },
            { type: 3, name: 'agent', autocomplete: true },
            { type: 4, name: 'days' },
          ],
        },
      ],
    });
    const text = files['chat.yaml'];
    board.write('chat.yaml', `${text}\n  - { name: extra, description: More, subcommands: [] }`);
    await waitFor(() => guild.commands.length === 3);
    board.write('chat.yaml', text);
    await waitFor(() => guild.commands.length === 2);
  });

  const status = (options: Json[]) => ({ name: 'status', options: [{ type: 1, name: 'of', options }] });

  it('become messages, answered in place of "thinking"', async () => {
    const options = [
      { type: 3, name: 'project', value: 'rail' },
      { type: 4, name: 'days', value: 7 },
    ];
    const { id, token } = guild.interact('command', status(options), general);
    const answer = await waitFor(() => guild.followUps.find((each) => each.token === token));
    expect(answer).toMatchObject({
      original: true,
      content: 'model-of-helm: Status of rail, please\ndays: 7',
    });
    expect(guild.callbacks.find((each) => each.id === id)?.body.type).toBe(5);
    const inbound = await seen.first(`message.inbound.chat.slash.${id}`);
    expect(inbound.payload).toMatchObject({ skillHint: 'report', options: { project: 'rail', days: 7 } });
  });

  it('are answered in their channel when the platform takes no answers any more', async () => {
    const refusal = { status: 404, body: { message: 'Unknown Webhook', code: 10_015 } };
    guild.server.fail('PATCH /api/v10/webhooks', refusal);
    guild.interact('command', status([{ type: 3, name: 'project', value: 'late' }]), general);
    expect(await posted('Status of late')).toMatchObject({ channelId: general, author: 'trunk' });
  });

  it('offer what can be chosen', async () => {
    const { id } = guild.interact(
      'autocomplete',
      status([{ type: 3, name: 'agent', value: 'AD', focused: true }]),
      general,
    );
    const callback = await waitFor(() => guild.callbacks.find((each) => each.id === id));
    expect(callback.body).toMatchObject({ type: 8, data: { choices: [{ name: 'ada', value: 'ada' }] } });
  });

  it('bring a project online', async () => {
    const options = [
      { type: 3, name: 'slug', value: 'rail' },
      { type: 3, name: 'title', value: 'Rail' },
      { type: 3, name: 'github', value: 'acme/rail' },
    ];
    const { token } = guild.interact(
      'command',
      { name: 'onboard', options: [{ type: 1, name: 'project', options }] },
      general,
    );
    const answer = await waitFor(() => guild.followUps.find((each) => each.token === token));
    expect(answer.content).toContain('Rail is online');
  });
});

describe('what goes out', () => {
  it('reaches alerts, digests and people', async () => {
    await publish('message.outbound.chat.alert', { content: 'alarm!' });
    expect(await posted('alarm!')).toMatchObject({ channelId: alerts });
    await publish('message.outbound.chat.push.cron', { content: 'daily digest' });
    expect(await posted('daily digest')).toMatchObject({ channelId: digest });
    await publish(`message.outbound.chat.push.${general}`, { content: 'weekly' });
    expect(await posted('weekly')).toMatchObject({ channelId: general });
    await publish(`message.outbound.chat.dm.user.${user}`, { content: 'for you' });
    expect(await posted('for you')).toMatchObject({ channelId: dmChannel(user) });
  });

  it('is split at the ends of lines, in order', async () => {
    const lines = Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(90)}`);
    await publish(`message.outbound.chat.${general}`, { content: lines.join('\n') });
    await posted('49 x');
    expect(guild.posts.length).toBeGreaterThan(2);
    expect(guild.posts.map(({ content }) => content).join('\n')).toBe(lines.join('\n'));
  });

  it('waits out limits and failures, and is posted once', async () => {
    const limited = { message: 'You are being rate limited.', retry_after: 0.05, global: false };
    guild.server.fail('/messages', {
      status: 429,
      headers: { 'retry-after': '1', 'x-ratelimit-scope': 'user' },
      body: limited,
    });
    guild.server.fail('/messages', { status: 502, body: {} });
    guild.server.fail('/messages', 'cut');
    await publish(`message.outbound.chat.${general}`, { content: 'patience' });
    await posted('patience');
    expect(guild.posts).toHaveLength(1);
  });

  it('fails in words where there is no such place', async () => {
    guild.server.fail('/messages', { status: 404, body: { message: 'Unknown Channel', code: 10_003 } });
    const unknown = await publish(`message.outbound.chat.${general}`, { content: 'x' });
    expect((await failed(unknown.body.id)).error).toContain('Unknown Channel');
    const nowhere = await publish('message.outbound.chat.some.where.else', { content: 'x' });
    expect((await failed(nowhere.body.id)).error).toContain('is no place');
  });
});

describe('after a restart', () => {
  it('what was said meanwhile is heard, once, and the digest goes where the variable says [S058]', async () => {
    const other = await FakeGuild.start({ 'main-token': { id: botId, name: 'trunk' } });
    const directory = temporaryDirectory();
    const variables = { ...env, CHAT_API_URL: other.url, CHAT_DIGEST_CHANNEL: digest, ADA_BOT_TOKEN: '' };
    const start = () =>
      startSwitchboard({ env: variables, files: { ...files, 'chat.yaml': '' }, home: directory.path });
    const found = (content: string) =>
      waitFor(() => other.posts.find((post) => post.content.includes(content)));
    const first = await start();
    await waitFor(() => other.connected === 1);
    other.say({ content: 'before', channelId: bound });
    await found('model-of-ada: before');
    await first.stop();
    other.say({ content: 'meanwhile', channelId: bound });
    const second = await start();
    await found('model-of-ada: meanwhile');
    const push = { topic: 'message.outbound.chat.push.cron', payload: { content: 'by the variable' } };
    await second.call('/publish', push);
    expect(await found('by the variable')).toMatchObject({ channelId: digest });
    expect(other.posts.filter(({ channelId }) => channelId === bound)).toHaveLength(2);
    await second.stop();
    await other.stop();
    directory.remove();
  });
});
