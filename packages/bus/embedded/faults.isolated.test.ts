import { join } from 'node:path';
import { startChild, temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { readAccepted } from '../fixtures/accepted-log.ts';
import { Effects } from '../fixtures/effects.ts';
import { openBus } from '../fixtures/open-bus.ts';
import { childStarter } from '../suites/children.suite.ts';
import { describeFaults } from '../suites/faults.suite.ts';

const mill = new URL('../fixtures/mill.ts', import.meta.url);

describe('embedded', () => {
  describeFaults((directory) => ({ directory }));
  const start = childStarter();

  it('brings 100,000 messages through three kills of the process: none lost, no effect doubled', async () => {
    const directory = temporaryDirectory();
    const place = { directory: join(directory.path, 'bus') };
    const [log, effectsPath] = [join(directory.path, 'accepted'), join(directory.path, 'effects.db')];
    const all = 100_000;
    const run = (first: number) =>
      start(mill, [JSON.stringify(place), log, effectsPath, String(first), String(all)]);
    let child = run(0);
    for (const killedAt of [15_000, 25_000, 30_000]) {
      await child.waitForLine(`accepted ${killedAt}`, 60_000);
      await child.kill('SIGKILL');
      child = run(firstMissing(readAccepted(log)));
    }
    await child.waitForLine('all done', 60_000);
    await child.exited;
    const accepted = readAccepted(log);
    const effects = new Effects(effectsPath);
    const done = new Set(effects.numbers());
    expect([...accepted].filter((number) => !done.has(number))).toEqual([]);
    expect(accepted.size).toBe(all);
    expect(effects.totals().balance).toBe(all);
    expect(effects.totals().runs).toBeGreaterThanOrEqual(all);
    effects.close();
    const bus = await openBus(place);
    expect(await bus.deadLetters()).toEqual([]);
    await bus.stop();
    directory.remove();
  });
});

it('loads nothing of NATS for an embedded bus, and lets the process end after stop', async () => {
  const directory = temporaryDirectory();
  const child = startChild(new URL('../fixtures/light-start.ts', import.meta.url), {
    arguments: [directory.path],
  });
  expect(await child.waitForLine('loaded', 60_000)).toBe('loaded 0');
  expect(await child.exited).toEqual({ code: 0, signal: null });
  directory.remove();
});

/** From the first number that was not accepted all is published again, as a client does that got no answer. */
function firstMissing(accepted: ReadonlySet<number>): number {
  let next = 0;
  while (accepted.has(next)) next += 1;
  return next;
}
