import { expect, it } from 'vitest';
import { LineCapacity, type LineClaim } from './line-capacity.ts';

/** Two cores of which speech may take 70 %, and a clock that the test moves. */
function open(options: { maxCalls?: number; maxLoad?: number } = {}) {
  let at = 0;
  const waiting: string[] = [];
  const lines = new LineCapacity({
    maxCalls: 32,
    maxLoad: 0.7,
    cores: 2,
    now: () => at,
    onWait: ({ owner }) => waiting.push(owner),
    ...options,
  });
  /** Lets so many calls talk, each of which takes this share of a core. */
  const talk = (calls: number, share: number, seconds: number) => {
    lines.setCalls(callers(calls));
    for (let second = 0; second < seconds; second += 1) {
      at += 1000;
      lines.worked(calls * share * 1000);
    }
  };
  return { lines, talk, waiting, pass: (ms: number) => (at += ms) };
}

/** A person with a ticket of the same name. */
function as(owner: string, claim: Partial<LineClaim> = {}): LineClaim {
  return { ticket: owner, owner, isGuest: false, mayHaveAll: false, ...claim };
}

/** So many people, each of whom has one call. */
function callers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `caller ${index}`);
}

const stranger = as('stranger', { ticket: undefined });

it('takes MAX_CALLS until it knows what a call costs', () => {
  const { lines, talk } = open();
  expect(lines.capacity).toBe(32);
  talk(1, 0.5, 10);
  expect(lines.capacity).toBe(32);
});

it('takes as many calls as the machine serves, by what calls have cost, and forgets it when nobody calls', () => {
  const { lines, talk, pass } = open();
  talk(2, 0.34, 120);
  expect(lines.capacity).toBe(4);
  lines.setCalls(callers(3));
  lines.admit(stranger);
  lines.setCalls(callers(4));
  expect(() => lines.admit(stranger)).toThrow(/at most 4 callers/);
  lines.setCalls(callers(0));
  pass(300_000);
  expect(lines.capacity).toBe(4);
  pass(301_000);
  expect(lines.capacity).toBe(32);
});

it('learns that calls cost less, and takes one call on any machine', () => {
  const { lines, talk } = open();
  talk(1, 3, 180);
  expect(lines.capacity).toBe(1);
  talk(1, 0.11, 600);
  expect(lines.capacity).toBe(12);
});

it('refuses no second caller on a machine that was slow for a minute', () => {
  const { lines, talk, pass } = open();
  for (const seconds of [30, 90, 120]) {
    talk(1, 3, 60);
    lines.admit(stranger);
    talk(1, 0.15, seconds);
    lines.admit(stranger);
    lines.setCalls(callers(0));
    // What comes when the last call has ended is no work of a call.
    lines.worked(600_000);
    pass(601_000);
  }
});

it('keeps to MAX_CALLS, and counts nothing else without a limit of load', () => {
  const [few, all] = [open({ maxCalls: 2 }), open({ maxLoad: 0 })];
  few.talk(1, 0.01, 180);
  all.talk(1, 3, 180);
  expect([few.lines.capacity, all.lines.capacity]).toEqual([2, 32]);
  few.lines.setCalls(callers(2));
  expect(() => few.lines.admit(stranger)).toThrow('All 2 lines are in use.');
});

it('those who wait come before those who call, in their order, while they ask', () => {
  const { lines, pass, waiting } = open({ maxCalls: 1 });
  const [ann, bob] = [as('ann'), as('bob')];
  lines.setCalls(callers(1));
  expect(lines.wait(ann)).toMatchObject({
    free: false,
    ahead: 0,
    reason: expect.stringContaining('All 1 lines'),
  });
  expect(lines.wait(bob)).toMatchObject({ free: false, ahead: 1 });
  lines.setCalls(callers(0));
  expect(lines.wait(bob)).toMatchObject({ free: false, ahead: 1 });
  expect(() => lines.admit(stranger)).toThrow('kept for somebody who waits');
  expect(() => lines.admit(bob)).toThrow();
  // Her place is hers alone.
  expect(() => lines.admit(as('eve', { ticket: 'ann' }))).toThrow();
  expect(lines.wait(ann)).toEqual({ free: true, ahead: 0, reason: '' });
  lines.admit(ann);
  lines.setCalls(callers(1));
  expect(lines.wait(bob)).toMatchObject({ free: false, ahead: 0 });
  lines.setCalls(callers(0));
  // A page in the background asks once a minute.
  pass(61_000);
  expect(lines.wait(bob)).toMatchObject({ free: true });
  pass(91_000);
  lines.admit(stranger);
  expect(waiting).toEqual(['ann', 'bob']);
});

it('a caller whose connection broke keeps the line before those who wait', () => {
  const { lines, talk, pass } = open();
  const [ann, cleo] = [as('ann'), as('cleo')];
  // The machine serves one caller, and two have come before that was known.
  talk(2, 0.8, 120);
  expect(lines.wait(cleo)).toMatchObject({ free: false, ahead: 0 });
  lines.setCalls(callers(0));
  lines.keep(ann);
  expect(lines.wait(cleo)).toMatchObject({ free: false, ahead: 1 });
  expect(() => lines.admit(as('eve', { ticket: 'ann' }))).toThrow();
  lines.setCalls(callers(1));
  lines.admit(ann);
  lines.setCalls(callers(0));
  lines.keep(ann);
  // She does not come back.
  pass(61_000);
  expect(lines.wait(cleo)).toMatchObject({ free: true });
});

it('nobody keeps the lines from all others by waiting', () => {
  const { lines, pass } = open({ maxCalls: 4 });
  const place = (ticket: string) => as('eve', { ticket });
  for (const ticket of ['1', '2', '3', '4']) expect(lines.wait(place(ticket)).free).toBe(true);
  expect(() => lines.wait(place('5'))).toThrow('kept for somebody who waits');
  expect(() => lines.admit(stranger)).toThrow('kept for somebody who waits');
  // Who does not answer goes behind.
  for (let asked = 0; asked < 5; asked += 1) {
    pass(20_000);
    for (const ticket of ['1', '2', '3', '4']) lines.wait(place(ticket));
  }
  lines.admit(stranger);
  pass(91_000);
  // Guests come last.
  for (const ticket of ['1', '2', '3', '4']) lines.wait(as('guest', { ticket, isGuest: true }));
  expect(() => lines.admit(as('another guest', { isGuest: true }))).toThrow('kept for somebody who waits');
  lines.admit(stranger);
});

it('leaves half of the lines to others, whatever calls one caller has or keeps', () => {
  const { lines, pass } = open({ maxCalls: 6 });
  const eve = (ticket: string, claim: Partial<LineClaim> = {}) => as('eve', { ticket, ...claim });
  lines.setCalls(['eve', 'eve']);
  lines.admit(eve('third'));
  lines.keep(eve('broken'));
  expect(() => lines.admit(eve('third'))).toThrow('You have 3 calls');
  expect(() => lines.wait(eve('third'))).toThrow('You have 3 calls');
  lines.admit(stranger);
  lines.admit(eve('third', { mayHaveAll: true }));
  // Coming back to a broken call makes no call more.
  lines.admit(eve('broken'));
  lines.keep(eve('broken'));
  pass(61_000);
  lines.admit(eve('third'));
});
