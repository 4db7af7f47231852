import { FakeGoogle, startEndlessServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startSwitchboard } from '../../fixtures/start-switchboard.ts';

const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };

it('is read up to a limit where it never ends', async () => {
  const server = await startEndlessServer({ begins: '{"items":["', megabytes: 300 });
  const google = await FakeGoogle.start(credentials);
  const board = await startSwitchboard({
    files: { 'cloud.yaml': 'calendar: { orgCalendarId: team@acme, pollIntervalMinutes: 60 }' },
    env: {
      CLOUD_CLIENT_ID: credentials.clientId,
      CLOUD_CLIENT_SECRET: credentials.clientSecret,
      CLOUD_REFRESH_TOKEN: credentials.refreshToken,
      CLOUD_TOKEN_URL: `${google.url}/token`,
      CLOUD_API_URL: server.url,
    },
  });
  onTestFinished(async () => {
    await board.stop();
    await google.stop();
    server.stop();
  });
  expect(await server.taken()).toBeLessThan(200);
});
