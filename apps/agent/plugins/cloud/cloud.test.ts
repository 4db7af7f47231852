import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Asked, startAnswering } from '../../tools/answering-server.suite.ts';
import { callTool } from '../../tools/call-tool.suite.ts';
import { type OpenPlugins, openPlugins } from '../open-plugins.ts';
import { type CloudPluginOptions, createCloudPlugin, dayOf } from './cloud-plugin.ts';

let home = temporaryDirectory();
let google: Awaited<ReturnType<typeof startAnswering>>;
let plugins: OpenPlugins | undefined;
let said: string[] = [];
const log = (_fields: object, message: string) => void said.push(message);
const logger = { info: log, warn: log, error: log };
const now = new Date('2026-06-01T21:30:00Z');
const tokenPath = () => join(home.path, 'token.json');
const token = (more: object = {}) =>
  writeFileSync(
    tokenPath(),
    JSON.stringify({
      access_token: 'old',
      refresh_token: 'r',
      expires_at: now.getTime() + 3_600_000,
      ...more,
    }),
  );

/** A small part of the cloud's own answers. */
function answer({ path, headers, body }: Asked) {
  if (path === '/token') {
    const isKnown = new URLSearchParams(body).get('client_secret') === 'secret';
    return isKnown
      ? { body: { access_token: 'new', refresh_token: 'r2', expires_in: 3600 } }
      : { status: 401 };
  }
  if (!['Bearer old', 'Bearer new'].includes(headers.authorization ?? '')) return { status: 401 };
  if (path.startsWith('/mail/users/me/messages?')) return { body: { messages: [{ id: 'a' }] } };
  if (path.startsWith('/mail/users/me/messages/a'))
    return {
      body: {
        snippet: 'see you',
        payload: {
          headers: [
            { name: 'From', value: 'Bob' },
            { name: 'Subject', value: 'Lunch' },
          ],
        },
      },
    };
  const start = { dateTime: '2026-06-01T09:00:00+02:00' };
  const items = [
    { summary: 'Stand-up', location: 'Room 1', start, end: { dateTime: '2026-06-01T09:15:00+02:00' } },
    { start: { date: '2026-06-01' }, end: { date: '2026-06-02' } },
  ];
  return { body: { items } };
}

async function open(more: Partial<CloudPluginOptions> = {}) {
  const urls = {
    auth: `${google.url}/auth`,
    token: `${google.url}/token`,
    mail: `${google.url}/mail`,
    calendar: `${google.url}/calendar`,
  };
  const plugin = createCloudPlugin({
    clientId: 'id',
    clientSecret: 'secret',
    tokenPath: tokenPath(),
    timezone: 'Europe/Berlin',
    now: () => now,
    urls,
    ...more,
  });
  plugins = await openPlugins([plugin], { enabled: ['cloud'], disabled: [] }, { logger });
  return plugins;
}
const call = (name: string) => callTool(plugins!.tools.find((tool) => tool.name === name)!);

beforeEach(async () => {
  home = temporaryDirectory();
  said = [];
  google = await startAnswering(answer);
});
afterEach(async () => {
  await plugins?.close();
  google.stop();
  home.remove();
});

describe('the cloud plugin', () => {
  it('needs an OAuth client [A065]', async () => {
    expect((await open({ clientSecret: undefined })).states).toMatchObject([
      { state: 'missing', reason: 'set CLOUD_CLIENT_ID and CLOUD_CLIENT_SECRET.' },
    ]);
  });

  it("lists the day's mail and appointments by the zone's calendar [A067]", async () => {
    token();
    await open();
    expect(await call('cloud_mail_today')).toBe('Bob: Lunch (see you)');
    expect(await call('cloud_calendar_today')).toBe('09:00-09:15 Stand-up @ Room 1\nall day (no title)');
    const [mail, , calendar] = google.asked.map(({ path }) => new URLSearchParams(path.split('?')[1]));
    expect(mail!.get('q')).toBe(
      `after:${Date.parse('2026-05-31T22:00:00Z') / 1000} before:${Date.parse('2026-06-01T22:00:00Z') / 1000}`,
    );
    expect([calendar!.get('timeMin'), calendar!.get('timeMax')]).toEqual([
      '2026-05-31T22:00:00.000Z',
      '2026-06-01T22:00:00.000Z',
    ]);
  });

  it('renews an expired token once for all that ask, and keeps it to itself [A066]', async () => {
    token({ expires_at: 0 });
    await open();
    await Promise.all([call('cloud_calendar_today'), call('cloud_mail_today')]);
    expect(google.asked.filter(({ path }) => path === '/token')).toHaveLength(1);
    expect(JSON.parse(readFileSync(tokenPath(), 'utf8'))).toMatchObject({
      access_token: 'new',
      refresh_token: 'r2',
    });
    expect(statSync(tokenPath()).mode & 0o777).toBe(0o600);
  });

  it('says what to do when it is not connected or refused', async () => {
    await open();
    expect(await call('cloud_mail_today')).toBe(
      'Error: the cloud account is not connected: use cloud_connect first.',
    );
    token({ expires_at: 0 });
    await plugins?.close();
    await open({ clientSecret: 'wrong' });
    expect(await call('cloud_mail_today')).toMatch(
      /^Error: the cloud refused the login: check CLOUD_CLIENT_ID/,
    );
  });

  it('connects by a page that the person opens, and by no other', async () => {
    await open();
    const address = new URL((await call('cloud_connect')).split(': ')[1]!);
    expect(address.searchParams.get('code_challenge_method')).toBe('S256');
    const back = new URL(address.searchParams.get('redirect_uri')!);
    expect((await fetch(`${back.href}?code=c&state=forged`)).status).toBe(400);
    expect((await fetch(`${back.href}?code=c&state=${address.searchParams.get('state')}`)).status).toBe(200);
    await waitFor(() => said.includes('cloud account connected'));
    const sent = new URLSearchParams(google.asked.at(-1)!.body);
    expect(sent.get('code')).toBe('c');
    expect(sent.get('code_verifier')).toMatch(/^[\w-]{43}$/);
    expect(await call('cloud_calendar_today')).toContain('Stand-up');
  });
});

it.each([
  ['2026-03-29T12:00:00Z', 'Europe/Berlin', 23],
  ['2026-10-25T12:00:00Z', 'Europe/Berlin', 25],
  ['2026-06-01T12:00:00Z', 'Asia/Kathmandu', 24],
])('a day at %s in %s has %s hours [A067]', (time, timezone, hours) => {
  const { start, end } = dayOf(new Date(time), timezone);
  expect((end.getTime() - start.getTime()) / 3_600_000).toBe(hours);
});
