import type { Bus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { expect, it } from 'vitest';
import { createBusMonitor } from './bus-monitor.ts';

/** A bus that counts its probes, each open until the test ends it, and a clock that the test drives. */
function watch() {
  const log: string[] = [];
  const write = (line: string) => void log.push(line);
  const logger = createLogger({ name: 'test', level: 'INFO', destination: { write } });
  const probes: PromiseWithResolvers<void>[] = [];
  const probe = () => {
    const opened = Promise.withResolvers<void>();
    probes.push(opened);
    return opened.promise;
  };
  const bus = { probe, status: () => ({ engine: 'nats', connected: true }) } as unknown as Bus;
  let time = 5000;
  return {
    log,
    probes,
    pass: (ms: number) => (time += ms),
    monitor: createBusMonitor(bus, logger, () => time),
  };
}

it('probes the journal once for all who ask within a second of the answer, and then again', async () => {
  const { monitor, probes, pass } = watch();
  const ask = (times: number) => Promise.all(Array.from({ length: times }, () => monitor.problem()));
  const first = ask(10);
  // One that takes long is not asked twice: a journal without a majority answers late.
  pass(1900);
  const meanwhile = ask(10);
  expect(probes).toHaveLength(1);
  probes[0]?.resolve();
  expect(new Set([...(await first), ...(await meanwhile)])).toEqual(new Set([undefined]));
  pass(999);
  const cached = ask(10);
  expect(probes).toHaveLength(1);
  expect(new Set(await cached)).toEqual(new Set([undefined]));
  pass(2);
  const later = ask(10);
  expect(probes).toHaveLength(2);
  probes[1]?.resolve();
  await later;
});

it('remembers a failure for no longer than a second, and logs each change once', async () => {
  const { monitor, probes, pass, log } = watch();
  const failing = [monitor.problem(), monitor.problem()];
  probes[0]?.reject(new Error('no majority'));
  expect(await Promise.all(failing)).toEqual(['no majority', 'no majority']);
  expect(await monitor.problem()).toBe('no majority');
  pass(1001);
  const still = monitor.problem();
  probes[1]?.reject(new Error('no majority'));
  expect(await still).toBe('no majority');
  pass(1001);
  const again = monitor.problem();
  probes[2]?.resolve();
  expect(await again).toBeUndefined();
  expect(probes).toHaveLength(3);
  expect(log.map((line) => JSON.parse(line).msg)).toEqual([
    'bus takes no messages',
    'bus takes messages again',
  ]);
});
