// Strangers on chat, messenger and mail: what they reach, what they are told, and how they come in.
import { openAccounts } from '@trunkline/accounts';
import {
  dmChannel,
  FakeGoogle,
  FakeGuild,
  FakeSignal,
  type ModelServer,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { quotesOthers, senderOf } from './cloud/mail.ts';
import { readEnvelope, senderOf as senderOnSignal } from './messenger/surface.ts';

const [botId, lobbyId] = ['600000000000000001', '600000000000000002'];
const [general, bound, team] = ['700000000000000077', '700000000000000088', '700000000000000099'];
const number = '+4930123';
const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
const files = {
  'agents/helm.yaml': agent(
    'helm',
    'role: general\ntools: [publish_event]\npublishes: [note.#]\nskills: [{ name: chat }]',
  ),
  'agents/lobby.yaml': agent(
    'lobby',
    'role: general\npublic: true\ntools: [publish_event]\npublishes: [note.#]\nchatBotTokenEnvKey: LOBBY_TOKEN\nskills: [{ name: greet }]',
  ),
  'channels.yaml': `channels:
  - { id: bound, platform: chat, channelId: "${bound}", agent: helm }
  - { id: team, platform: chat, channelId: "${team}", agent: helm, trustMembers: true }`,
  'routes.d/general.yaml': `name: general\nwhen: { topic: message.inbound.chat.${general} }\nthen: { skill: chat, agent: helm }`,
  'chat.yaml': `commands:
  - { name: status, description: Tells, subcommands: [{ name: of, description: Of, content: Status, options: [] }] }
  - { name: onboard, description: Onboards, subcommands: [{ name: project, description: P, content: "", options: [{ name: slug, description: S, required: true }] }] }`,
  'cloud.yaml':
    'gmail: { watchLabels: [inbox, support], pollIntervalMinutes: 0.001, routingRules: [{ label: support, skillHint: chat }] }',
};

let [guild, signal, google] = [] as unknown as [FakeGuild, FakeSignal, FakeGoogle];
let [model, board, seen] = [] as unknown as [ModelServer, TestSwitchboard, Observer];

beforeAll(async () => {
  guild = await FakeGuild.start({
    'main-token': { id: botId, name: 'trunk' },
    'lobby-token': { id: lobbyId, name: 'lobby' },
  });
  signal = await FakeSignal.start(number);
  google = await FakeGoogle.start(credentials);
  model = await startModelServer({
    script: ({ model: name, messages }) => {
      const said = String(messages.at(-1)?.content);
      if (messages.at(-1)?.role === 'tool') return `${name} got: ${said}`;
      if (said.includes('a link')) return 'See [the bank](https://evil.example/?d=secret).';
      if (!said.includes('publish it')) return `${name} answers`;
      return {
        toolCalls: [{ name: 'publish_event', arguments: { topic: 'note.x', payload: { content: 'n' } } }],
      };
    },
  });
  board = await startSwitchboard({
    files,
    paired: [],
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      CHAT_BOT_TOKEN: 'main-token',
      LOBBY_TOKEN: 'lobby-token',
      CHAT_GUILD_ID: guild.guildId,
      CHAT_API_URL: guild.url,
      MESSENGER_URL: signal.url,
      MESSENGER_NUMBER: number,
      MESSENGER_RECIPIENT: '+499',
      CLOUD_CLIENT_ID: credentials.clientId,
      CLOUD_CLIENT_SECRET: credentials.clientSecret,
      CLOUD_REFRESH_TOKEN: credentials.refreshToken,
      CLOUD_TOKEN_URL: `${google.url}/token`,
      CLOUD_API_URL: google.url,
      SWITCHBOARD_DELIVERY_RETRY_MS: '10',
    },
  });
  seen = await observe(board);
  await waitFor(() => guild.connected === 2 && guild.commands.length === 2 && signal.connections > 0);
  await waitFor(() => google.server.requests.filter(({ path }) => path.endsWith('/messages')).length >= 4);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await Promise.all([model.stop(), guild.stop(), signal.stop(), google.stop()]);
});

let people = 0;
const stranger = () => `5000000000000${String(++people + 100).padStart(5, '0')}`;
const write = (userId: string, content: string, to = botId) =>
  guild.say({ content, channelId: dmChannel(userId), userId, to });
const answersTo = (userId: string) =>
  guild.posts.filter(({ channelId }) => channelId === dmChannel(userId)).map(({ content }) => content);
const inbound = (content: string): Promise<Json> =>
  waitFor(() =>
    seen.messages.find(
      ({ topic, payload }) => topic.startsWith('message.inbound') && payload.content?.includes(content),
    ),
  );
/** The request that was made of a message, once it is among the flows as not delivered. */
const turnedAway = (correlationId: string): Promise<Json> =>
  waitFor(async () => {
    const { body } = await board.call('/api/flows');
    return body.data.flows.find(
      (flow: Json) => flow.id === `skill-${correlationId}` && flow.errorPreview?.includes('is not paired'),
    );
  });
const codeIn = (text: string) => /Your code is (\S+)\./.exec(text)?.[1] ?? '';

function withAccounts<Result>(use: (accounts: ReturnType<typeof openAccounts>) => Result): Result {
  const accounts = openAccounts({ home: board.home, logger: { warn: () => undefined } });
  const result = use(accounts);
  accounts.close();
  return result;
}

const approve = (code: string): string =>
  withAccounts((accounts) => accounts.approvePairing({ code }, { name: 'Ava', role: 'member' }).id);

describe('a stranger', () => {
  it('gets one code for the operator, and once paired is the person of the account', async () => {
    const userId = stranger();
    write(userId, 'first words');
    const notice = await waitFor(() => answersTo(userId)[0]);
    const code = codeIn(notice);
    expect(notice).toContain(`npx trunkline users pair ${code} --as NAME`);
    expect(notice).toContain('what you made here before belongs to that account too');
    expect(notice).toContain(`${board.url}/trust`);
    write(userId, 'more words');
    const { correlationId } = await inbound('more words');
    expect(await turnedAway(correlationId)).toMatchObject({ status: 'complete', stage: 'error' });
    expect(await seen.first('dispatch.dropped.unpaired', correlationId)).toMatchObject({
      payload: { why: `discord:${userId} is not paired, and the agent helm is not public` },
    });
    const told = await seen.first('operator.message.request');
    expect(told.payload.content).toContain(`discord:${userId}`);
    expect(told.payload.content).not.toContain(code);

    const id = approve(code);
    write(userId, 'words again');
    await waitFor(() => answersTo(userId).length > 1);
    expect(answersTo(userId)).toEqual([notice, 'model-of-helm answers']);
    expect((await inbound('words again')).principal).toEqual({
      kind: 'person',
      id: `user:${id}`,
      via: [],
      role: 'member',
    });
    expect(model.chats().some(({ messages }) => JSON.stringify(messages).includes('first words'))).toBe(
      false,
    );
  });

  it('is shown the way where others read along, but no code', async () => {
    const userId = stranger();
    for (const word of ['one', 'two'])
      guild.say({ content: `<@${botId}> ${word}`, channelId: general, userId, mentions: [botId] });
    await turnedAway((await inbound('two')).correlationId);
    const status = { name: 'status', options: [{ type: 1, name: 'of', options: [] }] };
    const options = [{ type: 3, name: 'slug', value: 'rail' }];
    const commands = [status, status, { name: 'onboard', options: [{ type: 1, name: 'project', options }] }];
    const tokens = commands.map((command) => guild.interact('command', command, general).token);
    const answers = await waitFor(() => {
      const found = tokens.map((token) => guild.followUps.find((each) => each.token === token)?.content);
      return found.every((content) => content !== undefined) ? found : undefined;
    });
    expect(answers.slice(0, 2).every((text) => text?.includes('Send me a direct message'))).toBe(true);
    expect(answers[2]).toContain('Only people whom the operator has paired');
    const posts = guild.posts.filter(({ channelId }) => channelId === general);
    expect(posts.map(({ content }) => codeIn(content))).toEqual(['']);
  });

  it('may talk to a public agent, which does nothing with effects for them', async () => {
    const userId = stranger();
    write(userId, 'publish it', lobbyId);
    await waitFor(() =>
      answersTo(userId).some((text) => text.includes('policy refuses it: guests may only use')),
    );
    expect(seen.messages.some(({ topic }) => topic === 'note.x')).toBe(false);
    expect((await inbound('publish it')).principal).toMatchObject({
      role: 'guest',
      origins: [{ kind: 'message', source: `discord:${userId}` }],
    });
  });

  it('sees where a link leads, and the platform previews none', async () => {
    const userId = stranger();
    write(userId, 'a link', lobbyId);
    const post = await waitFor(() => guild.posts.find(({ channelId }) => channelId === dmChannel(userId)));
    expect(post).toMatchObject({
      content: 'See the bank (<https://evil.example/?d=secret>).',
      allowed: ['users'],
      flags: 4,
    });
  });

  it('has words that the operator replays judged as theirs: refused, and once paired those of a member', async () => {
    const userId = stranger();
    write(userId, 'let me in');
    const code = codeIn(await waitFor(() => answersTo(userId)[0]));
    const { correlationId } = await inbound('let me in');
    const again = async () => {
      const { body } = await board.call(`/api/flows/skill-${correlationId}/replay`, {});
      return await seen.first('agent.skill.request', body.data.correlationId);
    };
    const refused = await again();
    expect(refused.principal).toMatchObject({ id: `discord:${userId}`, role: 'guest', via: ['replay'] });
    expect(refused.principal.origins).toEqual([{ kind: 'message', source: `discord:${userId}` }]);
    await turnedAway(refused.correlationId);
    const id = approve(code);
    const { principal } = await again();
    expect(principal).toEqual({ kind: 'person', id: `user:${id}`, role: 'member', via: ['replay'] });
    await waitFor(() => answersTo(userId).includes('model-of-helm answers'));
    withAccounts((accounts) => accounts.update(id, { disabled: true }));
    write(userId, 'words of the disabled');
    const { correlationId: last } = await inbound('words of the disabled');
    expect((await seen.first('dispatch.dropped.unpaired', last)).payload.why).toContain('is disabled');
    guild.say({ content: 'bound words of the disabled', channelId: bound, userId });
    const { correlationId: there } = await inbound('bound words of the disabled');
    expect((await seen.first('dispatch.dropped.unpaired', there)).payload.why).toContain('is disabled');
  });

  it.each([
    ['that the operator bound to an agent', bound],
    ['for whose topic the operator wrote a route', general],
  ])('stays a stranger in a channel %s', async (_, channelId) => {
    const userId = stranger();
    const content = `<@${botId}> publish it ${crypto.randomUUID()}`;
    guild.say({ content, channelId, userId, mentions: [botId] });
    const { correlationId, principal } = await inbound(content.slice(-36));
    expect(principal).toMatchObject({ id: `discord:${userId}`, role: 'guest' });
    expect((await seen.first('dispatch.dropped.unpaired', correlationId)).payload.why).toBe(
      `discord:${userId} is not paired, and the agent helm is not public`,
    );
    expect(seen.messages.some(({ topic }) => topic === 'note.x')).toBe(false);
  });

  it('is a member in a channel whose members the operator trusts', async () => {
    const userId = stranger();
    guild.say({ content: 'publish it here', channelId: team, userId });
    await waitFor(() => guild.posts.some(({ channelId }) => channelId === team));
    expect((await inbound('publish it here')).principal).toEqual({
      kind: 'person',
      id: `chat:${userId}`,
      via: [],
    });
    await seen.first('note.x');
  });
});

it('on the messenger gets a code too; the recipient of the settings is known', async () => {
  const text = (sourceNumber: string, message: string, timestamp: number) => ({
    sourceNumber,
    sourceName: 'Eve',
    timestamp,
    dataMessage: { message },
  });
  const to = (recipient: string) =>
    waitFor(() => signal.sent.find(({ recipients }) => recipients[0] === recipient));
  signal.receive(text('+491', 'hello', 1));
  signal.receive(text('+499', 'hello', 2));
  expect(codeIn((await to('+491')).message)).not.toBe('');
  expect((await to('+499')).message).toBe('model-of-helm answers');
  // Where the recipient is a group, whoever can join it is still a stranger.
  const dataMessage = { message: 'hello all', groupInfo: { groupId: 'abc=' } };
  const draft = readEnvelope({ envelope: { sourceNumber: '+491', timestamp: 3, dataMessage } })!;
  expect(senderOnSignal(draft, draft.source?.channelId)).toEqual({
    identity: 'signal:+491',
    isListed: false,
  });
  expect(senderOnSignal(draft, '+491')).toMatchObject({ isListed: true });
});

describe('mail', () => {
  const passed = 'mx.google.com; dkim=pass; dmarc=pass (p=NONE) header.from=x.example';
  const mail = (id: string, label: string, headers: Record<string, string> = {}) => ({
    id,
    threadId: id,
    labelIds: [label],
    from: `Ada <${id}@x.example>`,
    subject: id,
    text: `words of ${id}`,
    headers,
  });
  const reply = (id: string) =>
    waitFor(() => google.sent.find(({ raw }) => raw.includes(`To: Ada <${id}@x.example>`)));
  const bodyOf = ({ raw }: { raw: string }) =>
    Buffer.from(raw.split('\r\n\r\n')[1] ?? '', 'base64').toString();

  it('gets a code where the mailbox proves the sender, and no answer where it does not', async () => {
    google.mails.push(mail('forged', 'INBOX'), mail('real', 'INBOX', { 'Authentication-Results': passed }));
    const code = codeIn(bodyOf(await reply('real')));
    await turnedAway((await inbound('words of forged')).correlationId);
    expect(google.sent.some(({ raw }) => raw.includes('forged@'))).toBe(false);
    const id = approve(code);
    google.mails.push({ ...mail('real', 'INBOX', { 'Authentication-Results': passed }), id: 'again' });
    await waitFor(() => google.sent.some((sent) => bodyOf(sent) === 'model-of-helm answers'));
    const again = await waitFor(() =>
      seen.messages.find(
        ({ topic, payload }) => topic.startsWith('message.inbound') && payload.mail?.id === 'again',
      ),
    );
    expect(again.principal).toMatchObject({ kind: 'person', id: `user:${id}` });
  });

  it('under a label with a skill reaches its agent, as the words of a guest', async () => {
    google.mails.push(mail('asks', 'Label_1'));
    expect(bodyOf(await reply('asks'))).toBe('model-of-helm answers');
    expect((await inbound('words of asks')).principal).toMatchObject({
      role: 'guest',
      origins: [{ kind: 'message', source: 'mail:asks@x.example' }],
    });
  });

  it('is answered at another address only in the same domain, or where the sender is proven', async () => {
    const replyTo = (address: string, more = {}) => ({ 'Reply-To': address, ...more });
    google.mails.push(
      mail('evil', 'Label_1', replyTo('eve@evil.example')),
      mail('team', 'Label_1', replyTo('team@x.example')),
      mail('away', 'Label_1', replyTo('ada@home.example', { 'Authentication-Results': passed })),
    );
    await reply('evil');
    await waitFor(() =>
      ['team@x.example', 'ada@home.example'].every((to) =>
        google.sent.some(({ raw }) => raw.includes(`To: ${to}`)),
      ),
    );
    expect(google.sent.some(({ raw }) => raw.includes('evil.example'))).toBe(false);
  });

  it.each([
    ['Ada <Ada@X.example>', [passed], 'mail:ada@x.example', true],
    ['ada@x.example', [passed], 'mail:ada@x.example', true],
    ['ada@x.example', [], 'mail:ada@x.example', false],
    [
      'ada@x.example',
      ['mx.google.com; dmarc=fail header.from=x.example', passed],
      'mail:ada@x.example',
      false,
    ],
    ['ada@x.example', ['mx.google.com; dmarc=pass header.from=evil.example'], 'mail:ada@x.example', false],
    ['ada@x.example', [passed.replace('mx.google.com', 'mx.evil.example')], 'mail:ada@x.example', false],
    ['ada@x.example', [`${passed}.evil.example`], 'mail:ada@x.example', false],
    ...[
      'spf=pass (MAIL FROM:<dmarc=pass/header.from=x.example@evil.example>)',
      'spf=pass (of (a); dmarc=pass header.from=x.example ;@evil.example)',
      'spf=pass (\\) ; dmarc=pass header.from=x.example ;)',
      'spf=pass smtp.mailfrom="a; dmarc=pass header.from=x.example ;"@evil.example',
      'spf=pass x dmarc=pass header.from=x.example',
      'dmarc=pass header.from=x.example; spf=pass (',
      'dmarc=pass header.from=x.example; dmarc=fail header.from=x.example',
    ].map((result): [string, string[], string, boolean] => [
      'ada@x.example',
      [`mx.google.com; ${result}`],
      'mail:ada@x.example',
      false,
    ]),
    ['"ada@x.example" <eve@evil.example>', [passed], 'mail:eve@evil.example', false],
    ['ada@x.example, eve@evil.example', [passed], 'mail:unknown', false],
    ['Ada', [passed], 'mail:unknown', false],
  ])('from %s with %j is by %s, proven: %s', (from, results, identity, isProven) => {
    const headers = [
      ...results.map((value) => ({ name: 'Authentication-Results', value })),
      { name: 'From', value: from },
    ];
    expect(senderOf({ payload: { headers } })).toEqual({ identity, isProven });
    // Which of two a mailbox has checked is not known.
    const second = { name: 'from', value: 'ada@x.example' };
    expect(senderOf({ payload: { headers: [...headers, second] } }).isProven).toBe(false);
  });

  it.each([
    ['a mail of its own', { subject: 'Regarding: tea' }, 'Please order tea -- soon.\n--\nAda\n', false],
    ['an answer', { 'in-reply-to': '<1@x.example>' }, 'Yes.', true],
    ['a forwarded mail', { subject: 'WG: Tee' }, 'Sieh dir das an.', true],
    ['a counted answer', { subject: 'Re[2]: tea' }, 'Yes.', true],
    ['a quotation', {}, 'Yes.\n\n> Shall I?', true],
    ['one of Outlook', {}, 'Yes.\n________________________________\nFrom: Eve', true],
    ['one of Gmail', {}, 'Look.\n---------- Forwarded message ---------\nFrom: Eve', true],
    ['one of Apple Mail', {}, 'Look.\n\nBegin forwarded message:\n\nFrom: Eve', true],
    // Searched by a pattern that goes back, each of these would hold up the service.
    ['a line of dashes', {}, `${'-'.repeat(49_000)}x`, false],
    ['blank lines', {}, `${'\n'.repeat(49_000)}x`, false],
    ['a wide subject', { subject: `Re${' '.repeat(900_000)}tea` }, 'Yes.', false],
  ])('of %s (%j) is searched for words of others', (_, head: Record<string, string>, words, isQuoting) => {
    const headers = Object.entries(head).map(([name, value]) => ({ name, value }));
    const body = { data: Buffer.from(words).toString('base64url') };
    expect(quotesOthers({ payload: { mimeType: 'text/plain', headers, body } })).toBe(isQuoting);
  });
});
