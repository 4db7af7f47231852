import { describe, expect, it } from 'vitest';
import { type DayResult, planTroubles } from './hard-day.ts';
import { type Account, Ledger, type Standing } from './ledger.ts';
import { growthOf } from './memory.ts';
import { createRandom } from './random.ts';
import { isGood, reportOf } from './report.ts';

function accountOf(...standings: Standing[]): Account {
  const ledger = new Ledger();
  const entries = standings.map((_, index) => ({ load: 'tasks', id: `t${index}`, mark: `soak-${index}` }));
  for (const entry of entries) {
    ledger.offered('tasks');
    ledger.accept(entry);
  }
  return ledger.account(
    'tasks',
    standings.map((standing, index) => ({ entry: ledger.entries('tasks')[index]!, standing })),
  );
}

const flat = growthOf({ rss: 400, heap: 50 }, { rss: 410, heap: 52 });

function resultOf(account: Account, more: Partial<DayResult> = {}): DayResult {
  return {
    accounts: [account],
    withinLife: flat,
    acrossLives: flat,
    troubles: { kill: 1, fill: 1, jump: 1 },
    modelRequests: 9,
    modelFaults: 1,
    crashes: [],
    isStoppedWell: true,
    leftOut: [],
    ...more,
  };
}

describe('the verdict of a run', () => {
  it('is good when everything is answered, failed with a reason, or waits for a person', () => {
    const account = accountOf(
      { state: 'answered', times: 1 },
      { state: 'failed', times: 0, reason: 'interrupted by server restart' },
      { state: 'waiting', times: 0 },
    );
    expect(account).toMatchObject({
      offered: 3,
      accepted: 3,
      answered: 1,
      failed: 1,
      waiting: 1,
      missing: 0,
    });
    expect(isGood(resultOf(account))).toBe(true);
    expect(reportOf(resultOf(account))).toContain('Everything is accounted for.');
    expect(reportOf(resultOf(account))).toContain('1 tasks: interrupted by server restart');
  });

  it.each<[string, Standing]>([
    ['is gone', { state: 'missing', times: 0, reason: 'the task is unknown' }],
    ['never ended', { state: 'pending', times: 0, reason: 'it still works' }],
    ['failed without a reason', { state: 'failed', times: 0, reason: '' }],
    ['was answered twice', { state: 'answered', times: 2 }],
  ])('is bad, and names what it was, when something %s', (_, standing) => {
    const result = resultOf(accountOf({ state: 'answered', times: 1 }, standing));
    expect(isGood(result)).toBe(false);
    expect(reportOf(result)).toContain('tasks t1 (soak-1)');
  });

  it('is bad when memory grows, the process crashed, or did not stop as it should', () => {
    const account = accountOf({ state: 'answered', times: 1 });
    const grown = growthOf({ rss: 400, heap: 50 }, { rss: 410, heap: 120 });
    for (const trouble of [{ withinLife: grown }, { crashes: ['it ended'] }, { isStoppedWell: false }])
      expect(isGood(resultOf(account, trouble))).toBe(false);
  });
});

it('the same seed makes the same plan, another seed another', () => {
  const plan = (seed: number) =>
    planTroubles(createRandom(seed), { seconds: 60, kills: 3, fills: 1, jumps: 2 });
  expect(plan(5)).toEqual(plan(5));
  expect(plan(5)).not.toEqual(plan(6));
  expect(
    plan(5)
      .map(({ kind }) => kind)
      .toSorted(),
  ).toEqual(['fill', 'jump', 'jump', 'kill', 'kill', 'kill']);
});
