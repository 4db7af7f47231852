import { join } from 'node:path';
import {
  type NatsServer,
  natsMissing,
  startNatsServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAccepted } from '../fixtures/accepted-log.ts';
import { Effects } from '../fixtures/effects.ts';
import { openBus } from '../fixtures/open-bus.ts';
import { childStarter } from '../suites/children.suite.ts';
import { describeFaults } from '../suites/faults.suite.ts';
import { numbers } from '../suites/world.suite.ts';

const publisher = new URL('../fixtures/publisher.ts', import.meta.url);
const subscriber = new URL('../fixtures/subscriber.ts', import.meta.url);

describe.skipIf(natsMissing)(`on NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  beforeEach(async () => {
    server = await startNatsServer();
  });
  afterEach(() => server.stop());
  const start = childStarter();

  describeFaults(() => ({ servers: server.url, prefix: 'bus', ackWaitMs: 1000 }));

  it('brings 100,000 messages through three kills of the server: none lost, no effect doubled', async () => {
    const directory = temporaryDirectory();
    const effectsPath = join(directory.path, 'effects.db');
    const place = { servers: server.url, prefix: 'bus', ackWaitMs: 2000 };
    const all = 100_000;
    const options = { durable: 'reader', group: 'readers', concurrency: 100 };
    const reader = start(subscriber, [JSON.stringify(place), effectsPath, JSON.stringify(options)]);
    await reader.waitForLine('ready', 60_000);
    const log = join(directory.path, 'accepted');
    const writer = start(publisher, [JSON.stringify(place), log, '0', String(all), '256']);
    for (const killedAt of [10_000, 40_000, 80_000]) {
      await writer.waitForLine(`accepted ${killedAt}`, 60_000);
      await server.kill('SIGKILL');
      await server.start();
    }
    expect(await writer.exited, writer.output()).toEqual({ code: 0, signal: null });
    expect(readAccepted(log)).toEqual(new Set(numbers(all)));
    const effects = new Effects(effectsPath);
    await waitFor(() => effects.totals().balance === all, { timeoutMs: 120_000, intervalMs: 50 });
    expect(new Set(effects.numbers())).toEqual(new Set(numbers(all)));
    await reader.kill('SIGKILL');
    effects.close();
    const bus = await openBus(place);
    expect(await bus.deadLetters()).toEqual([]);
    await bus.stop();
    directory.remove();
  });
});
