import { FakeClock } from '@trunkline/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Due, DueHeap, type Job } from './entry.ts';
import { job, recorder } from './recorder.suite.ts';
import { Scheduler } from './scheduler.ts';

const hour = 3_600_000;
const midnight = Date.parse('2026-01-01T00:00:00Z');
/** A job that exists since the clock of these tests began. */
const fresh = (id: string, schedule: string, more: Partial<Job> = {}) =>
  job(id, schedule, { createdAt: midnight, ...more });

describe('firing', () => {
  it('fires a cron job at each of its times and not before the start', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.add(fresh('hourly', '0 * * * *'));
    await clock.advanceBy(60_000);
    expect(take()).toEqual([]);
    scheduler.start();
    await clock.advanceTo('2026-01-01T02:30:00Z');
    expect(take()).toEqual(['fire hourly@2026-01-01T01:00:00.000Z', 'fire hourly@2026-01-01T02:00:00.000Z']);
  });

  it('fires a job that is added later, and one that is due sooner than all others', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('late', '0 3 * * *'));
    scheduler.add(fresh('soon', '5 0 * * *'));
    await clock.advanceTo('2026-01-01T03:00:00Z');
    expect(take()).toEqual(['fire soon@2026-01-01T00:05:00.000Z', 'fire late@2026-01-01T03:00:00.000Z']);
  });

  it('gives the handler the job with all its fields, and the fire', async () => {
    const clock = new FakeClock('2026-01-01T00:00:00Z');
    const seen: unknown[] = [];
    const scheduler = new Scheduler<Job & { topic: string }>({
      clock,
      timezone: 'UTC',
      fire: (fired, fire) => void seen.push([fired.topic, fire]),
      onError: (error) => void seen.push(error),
    });
    scheduler.start();
    scheduler.add({ ...fresh('digest', '0 9 * * *'), topic: 'cron.digest' });
    await clock.advanceBy(10 * hour);
    const scheduledAt = Date.parse('2026-01-01T09:00:00Z');
    expect(seen).toEqual([
      [
        'cron.digest',
        {
          fireId: 'digest@2026-01-01T09:00:00.000Z',
          scheduledAt,
          missed: false,
          manual: false,
          attempt: 1,
          signal: expect.any(AbortSignal),
        },
      ],
    ]);
  });

  it('fires a one-shot once, then reports it finished and forgets it', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('once', '2026-01-01T12:00:00Z'));
    await clock.advanceBy(48 * hour);
    expect(take()).toEqual(['fire once@2026-01-01T12:00:00.000Z', 'finished once']);
    expect(scheduler.list()).toEqual([]);
  });

  it('waits for delays far beyond 31 bits', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('far', '2026-02-10T00:00:00Z'));
    await clock.advanceTo('2026-02-09T23:59:59.999Z');
    expect(take()).toEqual([]);
    await clock.advanceBy(1);
    expect(take()).toEqual(['fire far@2026-02-10T00:00:00.000Z', 'finished far']);
  });

  it('uses the zone of the job, else its own, on the day of a clock change', async () => {
    const { clock, scheduler, take } = recorder('2026-03-29T00:00:00Z', { timezone: 'Europe/Berlin' });
    scheduler.start();
    scheduler.add(job('berlin', '30 2 * * *', { createdAt: clock.now() }));
    scheduler.add(job('utc', '30 2 * * *', { createdAt: clock.now(), timezone: 'UTC' }));
    await clock.advanceBy(12 * hour);
    expect(take()).toEqual(['fire berlin@2026-03-29T01:00:00.000Z', 'fire utc@2026-03-29T02:30:00.000Z']);
  });

  it('costs one timer for a hundred thousand jobs, and fires those that are due', async () => {
    const { clock, scheduler, fires } = recorder('2026-01-01T00:00:30Z');
    scheduler.start();
    for (let number = 0; number < 100_000; number += 1) {
      scheduler.add(fresh(`job-${number}`, `${number % 60} * * * *`, { createdAt: clock.now() }));
    }
    expect(clock.pendingTimers).toBe(1);
    await clock.advanceBy(2 * 60_000);
    expect(clock.pendingTimers).toBe(1);
    const perMinute = Map.groupBy(fires, (fire) => new Date(fire.scheduledAt).toISOString());
    expect([...perMinute].map(([time, group]) => [time, group.length])).toEqual([
      ['2026-01-01T00:01:00.000Z', 1667],
      ['2026-01-01T00:02:00.000Z', 1667],
    ]);
    await scheduler.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('spreads fires by their jitter, the same way after a restart', async () => {
    const when = async () => {
      const seen: number[] = [];
      const { clock, scheduler } = recorder('2026-01-01T00:00:00Z', {
        fire: () => void seen.push(clock.now()),
      });
      for (let number = 0; number < 50; number += 1) {
        scheduler.add(fresh(`job-${number}`, '0 1 * * *', { jitterMs: 600_000 }));
      }
      scheduler.start();
      await clock.advanceBy(2 * hour);
      return seen.map((time) => time - midnight - hour);
    };
    const delays = await when();
    expect(delays).toHaveLength(50);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(600_000);
    expect(new Set(delays).size).toBeGreaterThan(45);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(300_000);
    expect(await when()).toEqual(delays);
  });

  it('runs on the real clock', async () => {
    const fired = Promise.withResolvers<string>();
    const scheduler = new Scheduler({ fire: (_, fire) => fired.resolve(fire.fireId), onError: fired.reject });
    const time = new Date(Date.now() + 20).toISOString();
    scheduler.start();
    scheduler.add(job('soon', time));
    expect(await fired.promise).toBe(`soon@${time}`);
    expect(await scheduler.stop()).toEqual([]);
  });
});

describe('managing jobs', () => {
  it('refuses a wrong schedule, zone or id, and keeps nothing of it', () => {
    const { scheduler } = recorder('2026-01-01T00:00:00Z');
    scheduler.add(fresh('a', '0 * * * *'));
    expect(() => scheduler.add(fresh('a', '0 * * * *'))).toThrow(
      expect.objectContaining({ code: 'job_exists' }),
    );
    expect(() => scheduler.add(fresh('b', '61 * * * *'))).toThrow(
      expect.objectContaining({ field: 'minute' }),
    );
    expect(() => scheduler.replace(fresh('a', '0 0 * * *', { timezone: 'Nowhere' }))).toThrow(
      expect.objectContaining({ code: 'timezone_unknown' }),
    );
    expect(scheduler.list().map((state) => [state.job.id, state.job.schedule])).toEqual([['a', '0 * * * *']]);
    const unknown = expect.objectContaining({ code: 'job_unknown', message: 'There is no job nobody.' });
    for (const act of ['pause', 'resume', 'runNow', 'preview'] as const) {
      expect(() => scheduler[act]('nobody')).toThrow(unknown);
    }
    expect(scheduler.get('nobody')).toBeUndefined();
    expect(scheduler.remove('nobody')).toBe(false);
    expect(() => recorder('2026-01-01T00:00:00Z', { timezone: 'Nowhere' })).toThrow(/no time zone/);
  });

  it('lists jobs in the order they came, with what comes next', async () => {
    const { clock, scheduler } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('b', '0 5 * * *'));
    scheduler.add(fresh('a', '0 1 * * *', { paused: true }));
    scheduler.add(fresh('c', '2026-01-02T00:00:00Z'));
    await clock.advanceBy(6 * hour);
    expect(
      scheduler.list().map(({ job: { id }, type, next, lastFired }) => ({ id, type, next, lastFired })),
    ).toEqual([
      { id: 'b', type: 'cron', next: midnight + 29 * hour, lastFired: midnight + 5 * hour },
      { id: 'a', type: 'cron', next: undefined, lastFired: undefined },
      { id: 'c', type: 'once', next: midnight + 24 * hour, lastFired: undefined },
    ]);
    expect(scheduler.preview('a', 2)).toEqual([midnight + 25 * hour, midnight + 49 * hour]);
    expect(scheduler.preview('b')).toHaveLength(5);
    expect(scheduler.preview('c')).toEqual([midnight + 24 * hour]);
  });

  it('replaces a schedule, removes a job', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('a', '0 5 * * *'));
    scheduler.add(fresh('b', '0 2 * * *'));
    scheduler.replace(fresh('a', '0 3 * * *'));
    expect(scheduler.remove('b')).toBe(true);
    await clock.advanceBy(12 * hour);
    expect(take()).toEqual(['fire a@2026-01-01T03:00:00.000Z']);
  });

  it('does not fire while paused, nor afterwards what passed meanwhile', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('a', '0 * * * *'));
    await clock.advanceBy(1.5 * hour);
    expect(scheduler.pause('a')).toMatchObject({ next: undefined, job: { paused: true } });
    await clock.advanceBy(3 * hour);
    expect(scheduler.list()).toHaveLength(1);
    expect(scheduler.resume('a')).toMatchObject({ next: midnight + 5 * hour, job: { paused: false } });
    await clock.advanceBy(hour);
    expect(take()).toEqual(['fire a@2026-01-01T01:00:00.000Z', 'fire a@2026-01-01T05:00:00.000Z']);
  });

  it('remembers by resumedAt, over a restart, that the pause was meant', async () => {
    const first = recorder('2026-01-01T00:00:00Z');
    first.scheduler.start();
    first.scheduler.add(fresh('a', '0 * * * *', { paused: true }));
    await first.clock.advanceBy(3.2 * hour);
    const { job: resumed } = first.scheduler.resume('a');
    await first.scheduler.stop();
    const second = recorder(first.clock);
    second.scheduler.add(resumed);
    second.scheduler.start();
    await second.clock.advanceBy(hour);
    expect(second.take()).toEqual(['fire a@2026-01-01T04:00:00.000Z']);
  });

  it('fires a one-shot on resume when its time came during the pause', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    scheduler.add(fresh('once', '2026-01-01T01:00:00Z', { paused: true }));
    await clock.advanceBy(2 * hour);
    scheduler.resume('once');
    await clock.advanceBy(0);
    expect(take()).toEqual(['fire once@2026-01-01T01:00:00.000Z missed', 'finished once']);
  });

  it('leaves a job that is not paused as it was on resume', () => {
    const { scheduler } = recorder('2026-01-01T00:00:00Z');
    scheduler.start();
    const added = scheduler.add(fresh('a', '0 * * * *'));
    expect(scheduler.resume('a')).toEqual(added);
  });

  it('runs a job now beside its schedule, paused or not', async () => {
    const { clock, scheduler, fires, take } = recorder('2026-01-01T00:30:00Z');
    scheduler.start();
    scheduler.add(fresh('a', '0 * * * *', { createdAt: clock.now() }));
    scheduler.add(fresh('once', '2026-01-01T00:59:00Z', { paused: true }));
    expect(scheduler.runNow('a')).toBe('a@2026-01-01T00:30:00.000Z#now');
    scheduler.runNow('once');
    await clock.advanceBy(hour);
    expect(take()).toEqual([
      'fire a@2026-01-01T00:30:00.000Z#now',
      'fire once@2026-01-01T00:30:00.000Z#now',
      'fire a@2026-01-01T01:00:00.000Z',
    ]);
    expect(fires.map((fire) => fire.manual)).toEqual([true, true, false]);
    expect(scheduler.get('once')).toBeDefined();
  });
});

interface Model {
  items: Due[];
  /** Also those that are gone: no two items have one number. */
  placed: number;
}
type Real = DueHeap<Due>;

const sorted = (items: Due[]) =>
  items.toSorted((one, other) => one.dueAt - other.dueAt || one.order - other.order);

class Place implements fc.Command<Model, Real> {
  readonly dueAt: number;
  constructor(dueAt: number) {
    this.dueAt = dueAt;
  }
  check = () => true;
  run(model: Model, heap: Real): void {
    const item = { dueAt: this.dueAt, order: model.placed, heapIndex: -1 };
    model.placed += 1;
    model.items.push(item);
    heap.place(item);
    expectTop(model, heap);
  }
  toString = () => `place ${this.dueAt}`;
}

class Move implements fc.Command<Model, Real> {
  readonly which: number;
  readonly dueAt: number;
  constructor(which: number, dueAt: number) {
    this.which = which;
    this.dueAt = dueAt;
  }
  check = (model: Model) => model.items.length > 0;
  run(model: Model, heap: Real): void {
    const item = model.items[this.which % model.items.length]!;
    item.dueAt = this.dueAt;
    heap.place(item);
    expectTop(model, heap);
  }
  toString = () => `move ${this.which} to ${this.dueAt}`;
}

class Remove implements fc.Command<Model, Real> {
  readonly which: number;
  constructor(which: number) {
    this.which = which;
  }
  check = (model: Model) => model.items.length > 0;
  run(model: Model, heap: Real): void {
    const [item] = model.items.splice(this.which % model.items.length, 1);
    heap.remove(item!);
    heap.remove(item!);
    expect(item!.heapIndex).toBe(-1);
    expectTop(model, heap);
  }
  toString = () => `remove ${this.which}`;
}

function expectTop(model: Model, heap: Real): void {
  expect(heap.size).toBe(model.items.length);
  expect(heap.peek()).toBe(sorted(model.items)[0]);
}

describe('DueHeap', () => {
  it('has the first item on top whatever is put in, moved and taken out', () => {
    const time = fc.integer({ min: 0, max: 50 });
    const commands = [
      time.map((dueAt) => new Place(dueAt)),
      fc.tuple(fc.nat(), time).map(([which, dueAt]) => new Move(which, dueAt)),
      fc.nat().map((which) => new Remove(which)),
    ];
    fc.assert(
      fc.property(fc.commands(commands, { maxCommands: 100 }), (run) => {
        fc.modelRun(() => ({ model: { items: [], placed: 0 }, real: new DueHeap<Due>() }), run);
      }),
    );
  });

  it('gives items in order of time, and equal ones in order of number', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 200 }), (times) => {
        const items = times.map((dueAt, order) => ({ dueAt, order, heapIndex: -1 }));
        const heap = new DueHeap<Due>();
        for (const item of items) heap.place(item);
        const taken: Due[] = [];
        for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
          heap.remove(top);
          taken.push(top);
        }
        expect(taken).toEqual(sorted(items));
      }),
    );
  });
});
