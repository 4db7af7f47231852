import {
  FakeGoogle,
  FakeGuild,
  type NatsServer,
  natsMissing,
  startNatsServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const bound = '700000000000000088';
const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
const files = {
  'channels.yaml': `channels: [{ id: bound, platform: chat, channelId: "${bound}", agent: nobody }]`,
  'cloud.yaml': `calendar: { orgCalendarId: team@acme, pollIntervalMinutes: 0.001 }
gmail: { watchLabels: [support], pollIntervalMinutes: 0.001 }`,
};

/** Each switchboard has a home of its own, and none that begins to listen has listened before. */
describe.skipIf(natsMissing !== undefined)('a switchboard that takes over on NATS', () => {
  let [nats, guild, google] = [] as unknown as [NatsServer, FakeGuild, FakeGoogle];
  beforeAll(async () => {
    [nats, guild, google] = await Promise.all([
      startNatsServer(),
      FakeGuild.start({ 'main-token': { id: '600000000000000001', name: 'trunk' } }),
      FakeGoogle.start(credentials),
    ]);
  });
  afterAll(async () => {
    await Promise.all([nats.stop(), guild.stop(), google.stop()]);
  });

  const start = () =>
    startSwitchboard({
      files,
      env: {
        NATS_URL: nats.url,
        CHAT_BOT_TOKEN: 'main-token',
        CHAT_GUILD_ID: guild.guildId,
        CHAT_API_URL: guild.url,
        CLOUD_CLIENT_ID: credentials.clientId,
        CLOUD_CLIENT_SECRET: credentials.clientSecret,
        CLOUD_REFRESH_TOKEN: credentials.refreshToken,
        CLOUD_TOKEN_URL: `${google.url}/token`,
        CLOUD_API_URL: google.url,
      },
    });
  const told = async (board: TestSwitchboard) => {
    const { body } = await board.call('/api/bus/history?topic=message.inbound.%23&limit=1000');
    const payloads = body.data.messages.map(({ message }: { message: Json }) => message.payload);
    return payloads.map((payload: Json) => payload.mail?.id ?? payload.event?.id ?? payload.content);
  };
  const happen = (name: string) => {
    const time = new Date().toISOString();
    const mail = { threadId: name, labelIds: ['Label_1'], from: 'a@x.example', subject: '', text: 'x' };
    google.mails.push({ ...mail, id: `mail ${name}` });
    google.events.push({ id: `event ${name}`, summary: name, created: time, updated: time });
    guild.say({ content: `chat ${name}`, channelId: bound });
  };
  const isTold = (board: TestSwitchboard, ...names: string[]) =>
    waitFor(async () => {
      const found = await told(board);
      return names.every((name) => found.includes(name));
    });

  it('goes on where the last one stopped: with chat, mail and calendar', async () => {
    const first = await start();
    const asked = (end: string) => google.server.requests.filter(({ path }) => path.endsWith(end)).length;
    await waitFor(() => guild.connected === 1 && asked('/events') > 1 && asked('/messages') > 1, {
      timeoutMs: 60_000,
    });
    happen('first');
    await isTold(first, 'mail first', 'event first', 'chat first');
    await first.stop();
    happen('between');
    const second = await start();
    await isTold(second, 'mail between', 'event between', 'chat between');
    expect((await told(second)).filter((name: string) => name.endsWith('first'))).toHaveLength(3);
    await second.stop();
  });
});
