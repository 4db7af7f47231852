import { startEndlessServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { connectDiscord } from './connect-discord.ts';

it('reads no more than a limit of an answer that never ends', async () => {
  const server = await startEndlessServer({ begins: '{"url":"', megabytes: 200 });
  onTestFinished(() => server.stop());
  const signal = new AbortController().signal;
  const logger = { warn: () => undefined };
  const settings = { token: 'token', apiUrl: server.url, createBot: (client: object) => client, logger };
  await expect(connectDiscord(settings, signal)).rejects.toThrow(/larger than/);
  expect(await server.taken()).toBeLessThan(100);
});
