import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeGoogle } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startSwitchboard } from '../../fixtures/start-switchboard.ts';

const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
const megabyte = 'x'.repeat(2 ** 20);

it('is read up to a limit where it never ends', async () => {
  const hungUp = Promise.withResolvers<void>();
  let sent = 0;
  const server = createServer((_, response) => {
    response.once('close', () => hungUp.resolve());
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"items":["');
    const write = () => {
      while (!response.destroyed && sent < 300) {
        sent += 1;
        if (!response.write(megabyte)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const google = await FakeGoogle.start(credentials);
  const board = await startSwitchboard({
    files: { 'cloud.yaml': 'calendar: { orgCalendarId: team@acme, pollIntervalMinutes: 60 }' },
    env: {
      CLOUD_CLIENT_ID: credentials.clientId,
      CLOUD_CLIENT_SECRET: credentials.clientSecret,
      CLOUD_REFRESH_TOKEN: credentials.refreshToken,
      CLOUD_TOKEN_URL: `${google.url}/token`,
      CLOUD_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    },
  });
  onTestFinished(async () => {
    await board.stop();
    await google.stop();
    server.closeAllConnections();
    server.close();
  });
  await hungUp.promise;
  expect(sent).toBeLessThan(200);
});
