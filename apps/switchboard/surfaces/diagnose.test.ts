import { readOptions } from '@trunkline/config';
import { type ConnectorsView, testMessage, testTopicAt } from '@trunkline/std';
import { FakeGitHub, FakeGoogle, FakeGuild, FakeLinear, FakeSignal, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';
import { switchboardOptions } from '../options.ts';
import { diagnoseSurfaces } from './diagnose.ts';

const diagnose = (env: Record<string, string>) => diagnoseSurfaces(readOptions(switchboardOptions, { env }));

/** Every product, and the settings that connect it. */
async function startProducts() {
  const guild = await FakeGuild.start({ 'bot-token': { id: '1', name: 'trunk' } });
  const github = await FakeGitHub.start({ token: 'code-token', login: 'octo' });
  const linear = await FakeLinear.start({ apiKey: 'lin_key' });
  const google = await FakeGoogle.start({ clientId: 'a', clientSecret: 'b', refreshToken: 'c' });
  const signal = await FakeSignal.start('+1');
  for (const server of [guild, github, linear, google, signal]) onTestFinished(() => server.stop());
  const env = {
    CHAT_BOT_TOKEN: 'bot-token',
    CHAT_API_URL: guild.url,
    CODEHOST_TOKEN: 'code-token',
    CODEHOST_API_URL: github.url,
    TRACKER_API_KEY: 'lin_key',
    TRACKER_API_URL: linear.url,
    CLOUD_CLIENT_ID: 'a',
    CLOUD_CLIENT_SECRET: 'b',
    CLOUD_REFRESH_TOKEN: 'c',
    CLOUD_TOKEN_URL: `${google.url}/token`,
    CLOUD_API_URL: google.url,
    MESSENGER_URL: signal.url,
    MESSENGER_NUMBER: '+1',
  };
  return { env, guild, github, linear, google, signal };
}

describe('the doctor of surfaces', () => {
  it('names those that are off, with the variables that switch them on', async () => {
    const [finding, ...rest] = await diagnose({});
    expect(rest).toEqual([]);
    expect(finding).toMatchObject({ subject: 'surfaces', state: 'ok' });
    for (const name of [
      'CHAT_BOT_TOKEN',
      'CODEHOST_TOKEN',
      'TRACKER_API_KEY',
      'CLOUD_REFRESH_TOKEN',
      'MESSENGER_URL',
    ])
      expect(finding?.words).toContain(name);
  });

  it('asks each configured product who we are, and says what to check when it refuses', async () => {
    const { env } = await startProducts();
    expect(await diagnose(env)).toEqual([
      { subject: 'surface chat', state: 'ok', words: 'answers: signed in as trunk.' },
      { subject: 'surface codehost', state: 'ok', words: 'answers: signed in as octo.' },
      { subject: 'surface tracker', state: 'ok', words: 'answers: signed in as Trunk.' },
      { subject: 'surface cloud', state: 'ok', words: 'answers: the refresh token works.' },
      { subject: 'surface messenger', state: 'ok', words: 'answers: the bridge runs.' },
    ]);
    const wrong = {
      CHAT_BOT_TOKEN: 'x',
      CODEHOST_TOKEN: 'x',
      TRACKER_API_KEY: 'x',
      CLOUD_REFRESH_TOKEN: 'x',
    };
    const refused = await diagnose({ ...env, ...wrong });
    expect(refused.slice(0, 4).map(({ state }) => state)).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(refused.map(({ advice }) => advice ?? '').join()).toContain('Check TRACKER_API_KEY.');
  });
});

describe('the step "Connector" of the setup', () => {
  it('lists what can be connected without a secret, and checks values before they are saved', async () => {
    // The library takes a leading "Bot" of a token away.
    const guild = await FakeGuild.start({ 'main-token': { id: '1', name: 'trunk' } });
    onTestFinished(() => guild.stop());
    const place = { CHAT_API_URL: guild.url, CHAT_DIGEST_CHANNEL: '700000000000000002' };
    const board = await startSwitchboard({ env: { ...place, CHAT_BOT_TOKEN: 'main-token' } });
    onTestFinished(() => board.stop());
    const { body: view } = await board.call('/operator/setup/connectors');
    const names = view.connectors.map(({ title }: { title: string }) => title);
    expect(names).toEqual(['Discord', 'GitHub', 'Linear', 'Google Workspace', 'Signal']);
    const [chat] = view.connectors;
    expect(chat).toMatchObject({
      name: 'chat',
      state: 'running',
      testTopic: 'message.outbound.chat.push.test',
      testPlace: null,
    });
    expect(chat.fields[0]).toMatchObject({
      variable: 'CHAT_BOT_TOKEN',
      secret: true,
      value: null,
      isSet: true,
    });
    expect(JSON.stringify(view)).not.toContain('main-token');
    const check = async (name: string, values: object) =>
      (await board.call(`/operator/setup/connectors/${name}/check`, { values })).body;
    expect(await check('chat', {})).toEqual({ ok: true, words: 'signed in as trunk' });
    const refused = await check('chat', { CHAT_BOT_TOKEN: 'wrong' });
    expect(refused).toMatchObject({ ok: false, words: expect.stringContaining('Discord refuses') });
    expect(await check('messenger', {})).toEqual({
      ok: false,
      words: 'Fill in MESSENGER_URL and MESSENGER_NUMBER.',
    });
    expect(await check('codehost', { CODEHOST_WEBHOOK_PORT: 'x' })).toMatchObject({
      ok: false,
      words: expect.stringContaining('CODEHOST_WEBHOOK_PORT cannot be this value'),
    });
    const other = await FakeGuild.start({ 'new-token': { id: '2', name: 'other' } });
    onTestFinished(() => other.stop());
    expect(await check('chat', { CHAT_API_URL: other.url })).toEqual({
      ok: false,
      words: expect.stringContaining('fill in the keys too: CHAT_BOT_TOKEN'),
    });
    const elsewhere = { CHAT_API_URL: other.url, CHAT_BOT_TOKEN: 'new-token' };
    expect(await check('chat', elsewhere)).toEqual({ ok: true, words: 'signed in as other' });
    expect((await check('chat', place)).ok).toBe(true);
    const { body: audit } = await board.call('/operator/audit');
    expect(JSON.stringify(audit)).toContain(`checked chat at ${new URL(other.url).origin}"`);
    expect((await board.call('/operator/setup/connectors/pigeon/check', { values: {} })).status).toBe(404);
  });

  it('sends a test message to every product, at the place that the person names', async () => {
    const { env, guild, github, linear, google, signal } = await startProducts();
    const places = {
      CHAT_DIGEST_CHANNEL: '700000000000000002',
      MESSENGER_RECIPIENT: '+2',
      CODEHOST_WEBHOOK_PORT: '0',
      TRACKER_WEBHOOK_PORT: '0',
    };
    const board = await startSwitchboard({ env: { ...env, ...places } });
    onTestFinished(() => board.stop());
    const { connectors } = (await board.call('/operator/setup/connectors')).body as ConnectorsView;
    const named: Record<string, string> = { codehost: 'octo/hello.world#12', tracker: 'ENG-12' };
    expect(connectors.filter(({ testPlace }) => testPlace).map(({ name }) => name)).toEqual(
      Object.keys(named),
    );
    for (const { name, testTopic } of connectors) {
      const topic = testTopicAt(testTopic ?? '', named[name] ?? '');
      expect((await board.call('/publish', { topic, payload: testMessage })).status).toBe(200);
    }
    const { title, content } = testMessage;
    await waitFor(() => guild.posts.length > 0 && github.posts.length > 0 && signal.sent.length > 0);
    await waitFor(
      () => linear.mutations.length > 0 && [...google.documents.values()].some(({ text }) => text),
    );
    expect(guild.posts).toMatchObject([{ channelId: '700000000000000002', content }]);
    expect(JSON.stringify(github.posts)).toContain('hello.world');
    expect(JSON.stringify(github.posts)).toContain(content);
    expect(JSON.stringify(linear.mutations)).toMatch(/ENG-12.*This is a test message/);
    expect([...google.documents.values()]).toMatchObject([{ title, text: expect.stringContaining(content) }]);
    expect(signal.sent).toMatchObject([{ recipients: ['+2'], message: content }]);
  });
});
