import { FakeGoogle, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Observer, observe } from '../../fixtures/observe.ts';
import { openContext } from '../../fixtures/plugin-context.ts';
import { startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';
import { PollState } from './calendar.ts';

const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
const files = {
  'cloud.yaml': `calendar: { orgCalendarId: team@acme, pollIntervalMinutes: 0.001 }
gmail: { watchLabels: [support], pollIntervalMinutes: 0.001 }`,
};

let [google, home] = [] as unknown as [FakeGoogle, ReturnType<typeof temporaryDirectory>];
let board: TestSwitchboard | undefined;
let seen: Observer | undefined;

beforeEach(async () => {
  google = await FakeGoogle.start(credentials);
  home = temporaryDirectory();
});
afterEach(async () => {
  vi.useRealTimers();
  await leave();
  await google.stop();
  home.remove();
});

async function run(tokenUrl = `${google.url}/token`): Promise<void> {
  const env = {
    CLOUD_CLIENT_ID: credentials.clientId,
    CLOUD_CLIENT_SECRET: credentials.clientSecret,
    CLOUD_REFRESH_TOKEN: credentials.refreshToken,
    CLOUD_TOKEN_URL: tokenUrl,
    CLOUD_API_URL: google.url,
  };
  board = await startSwitchboard({ files, env, home: home.path });
  seen = await observe(board);
}

async function leave(): Promise<void> {
  seen?.close();
  await board?.stop();
  [board, seen] = [undefined, undefined];
}

function receive(...ids: string[]): void {
  for (const id of ids)
    google.mails.push({
      id,
      threadId: id,
      labelIds: ['Label_1'],
      from: 'a@x.example',
      subject: id,
      text: '',
    });
}

/** Until all of what stands in the fake has been asked for once more. */
async function polled(end: string): Promise<void> {
  const before = google.server.requests.length;
  const asked = () => google.server.requests.slice(before).filter(({ path }) => path.endsWith(end));
  await waitFor(() => asked().length > 3);
}

const told = () =>
  (seen?.messages ?? []).flatMap(({ payload }) => (payload.mail === undefined ? [] : [payload.mail.id]));
const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(4, '0')}`);

describe('mail', () => {
  it('that came while nobody asked is told, however much it is, and the oldest first', async () => {
    receive('before');
    await run();
    await polled('/messages');
    await leave();
    const missed = numbered('missed', 70);
    google.largestMailPage = 30;
    receive(...missed);
    await run();
    await waitFor(() => told().length >= missed.length, { timeoutMs: 60_000 });
    expect(told()).toEqual(missed);
  });

  it('that was there before the first time is left alone also when others go', async () => {
    receive(...numbered('before', 120));
    await run();
    await polled('/messages');
    google.mails.splice(20, 100);
    receive('new');
    await waitFor(() => told().length > 0);
    await polled('/messages');
    expect(told()).toEqual(['new']);
  });
});

describe('a mail that was told', () => {
  it('is known as long as it may stand under its label, which is longer than the bus knows its message', async () => {
    const { bus, stop } = await openContext(home.path);
    await (await PollState.open(bus)).see('once');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 365 * 24 * 3_600_000 });
    const later = await PollState.open(bus);
    expect([await later.hasSeen('once'), await later.hasSeen('never')]).toEqual([true, false]);
    await stop();
  });
});

describe('a calendar', () => {
  it('of very many events is followed', async () => {
    const time = new Date().toISOString();
    const event = (id: string) => ({ id, summary: id, created: time, updated: time });
    google.events.push(...numbered('event', 13_000).map(event));
    await run();
    await waitFor(() => google.server.requests.some(({ query }) => query.has('syncToken')));
    google.events.push(event('new'));
    await waitFor(() => seen?.messages.some(({ payload }) => payload.event?.id === 'new'));
  });
});

describe('a token service that does not answer', () => {
  it('holds up nothing when the switchboard stops', async () => {
    google.server.on('POST /silent', () => new Promise(() => undefined));
    await run(`${google.url}/silent`);
    await waitFor(() => google.server.requests.some(({ path }) => path === '/silent'));
    await leave();
  });
});
