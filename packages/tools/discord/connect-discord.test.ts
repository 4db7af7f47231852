import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { connectDiscord } from './connect-discord.ts';

const megabyte = 'x'.repeat(2 ** 20);

it('reads no more than a limit of an answer that never ends', async () => {
  const hungUp = Promise.withResolvers<void>();
  let sent = 0;
  const server = createServer((_, response) => {
    response.once('close', () => hungUp.resolve());
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"url":"');
    const write = () => {
      while (!response.destroyed && sent < 200) {
        sent += 1;
        if (!response.write(megabyte)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signal = new AbortController().signal;
  const logger = { warn: () => undefined };
  const bot = connectDiscord({ token: 'token', apiUrl, createBot: (client) => client, logger }, signal);
  await expect(bot).rejects.toThrow(/larger than/);
  await hungUp.promise;
  expect(sent).toBeLessThan(100);
});
