import { readOptions } from '@trunkline/config';
import { FakeGitHub, FakeGoogle, FakeGuild, FakeLinear, FakeSignal } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { switchboardOptions } from '../options.ts';
import { diagnoseSurfaces } from './diagnose.ts';

const diagnose = (env: Record<string, string>) => diagnoseSurfaces(readOptions(switchboardOptions, { env }));

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
