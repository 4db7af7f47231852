import { describe, expect, it } from 'vitest';
import type { Fire, Job } from './entry.ts';
import { job, recorder } from './recorder.suite.ts';
import type { SchedulerOptions } from './scheduler.ts';

const minute = 60_000;
const start = '2026-01-01T00:00:30Z';

/** A scheduler with one job, whose fires end when the test says so. */
function slow(overlap: Job['overlap'], options: Partial<SchedulerOptions<Job>> = {}, schedule = '* * * * *') {
  const ends: PromiseWithResolvers<void>[] = [];
  const recorded = recorder(start, {
    ...options,
    fire() {
      const end = Promise.withResolvers<void>();
      ends.push(end);
      return end.promise;
    },
  });
  recorded.scheduler.start();
  recorded.scheduler.add(job('slow', schedule, { overlap, createdAt: recorded.clock.now() }));
  return { ...recorded, ends };
}

const times = (events: string[]) =>
  events.map((event) => event.replace(/slow@2026-01-01T(..:..):00.000Z/, '$1'));

describe('a job that is due while it still runs', () => {
  it('is skipped by `skip`, and goes on at its next time', async () => {
    const { clock, scheduler, ends, take } = slow('skip');
    await clock.advanceBy(3 * minute);
    expect(times(take())).toEqual(['fire 00:01', 'skipped 00:02', 'skipped 00:03']);
    expect(scheduler.get('slow')).toMatchObject({ running: 1, waiting: 0 });
    ends[0]?.resolve();
    await clock.advanceBy(minute);
    expect(times(take())).toEqual(['fire 00:04']);
  });

  it('waits by `queue`, one after the other and up to a limit', async () => {
    const { clock, scheduler, ends, take } = slow('queue', { overlapLimit: 2 });
    await clock.advanceBy(4 * minute);
    expect(times(take())).toEqual(['fire 00:01', 'skipped 00:04']);
    expect(scheduler.get('slow')).toMatchObject({ running: 1, waiting: 2 });
    ends[0]?.resolve();
    await clock.advanceBy(0);
    ends[1]?.reject(new Error('broken'));
    await clock.advanceBy(0);
    expect(times(take())).toEqual(['fire 00:02', 'error broken', 'fire 00:03']);
  });

  it('runs beside itself by `allow`, up to a limit', async () => {
    const { clock, scheduler, take } = slow('allow', { overlapLimit: 2 });
    await clock.advanceBy(3 * minute);
    expect(times(take())).toEqual(['fire 00:01', 'fire 00:02', 'skipped 00:03']);
    expect(scheduler.get('slow')).toMatchObject({ running: 2 });
  });

  it('refuses to run now when that would be skipped, and waits when it may', async () => {
    const { clock, scheduler } = slow('skip');
    await clock.advanceBy(minute);
    expect(() => scheduler.runNow('slow')).toThrow(expect.objectContaining({ code: 'job_running' }));
    const queued = slow('queue');
    await queued.clock.advanceBy(minute);
    queued.scheduler.runNow('slow');
    expect(queued.scheduler.get('slow')).toMatchObject({ running: 1, waiting: 1 });
  });

  it('is not fired again by being replaced meanwhile', async () => {
    for (const [overlap, schedule] of [
      ['queue', '* * * * *'],
      ['allow', '2026-01-01T00:01:00Z'],
    ] as const) {
      const { clock, scheduler, ends, take } = slow(overlap, {}, schedule);
      await clock.advanceBy(minute);
      scheduler.replace(job('slow', schedule, { overlap }));
      await clock.advanceBy(0);
      ends[0]?.resolve();
      await clock.advanceBy(0);
      expect(times(take()).filter((event) => event.startsWith('fire'))).toEqual(['fire 00:01']);
    }
  });

  it('forgets what waits when it is paused or removed', async () => {
    for (const act of ['pause', 'remove'] as const) {
      const { clock, scheduler, ends, take } = slow('queue');
      await clock.advanceBy(3 * minute);
      scheduler[act]('slow');
      ends[0]?.resolve();
      await clock.advanceBy(minute);
      expect(times(take())).toEqual(['fire 00:01']);
    }
  });

  it('a one-shot waits for its own run by hand, even over a pause', async () => {
    const { clock, scheduler, ends, take } = slow('skip', {}, '2026-01-01T00:01:00Z');
    scheduler.runNow('slow');
    await clock.advanceBy(minute);
    expect(scheduler.get('slow')).toMatchObject({ running: 1, waiting: 1 });
    scheduler.pause('slow');
    ends[0]?.resolve();
    await clock.advanceBy(minute);
    scheduler.resume('slow');
    await clock.advanceBy(0);
    ends[1]?.resolve();
    await clock.advanceBy(0);
    expect(times(take())).toEqual([
      'fire slow@2026-01-01T00:00:30.000Z#now',
      'fire 00:01 missed',
      'finished slow',
    ]);
  });
});

describe('a handler that fails', () => {
  it('is reported and stops neither its job nor others', async () => {
    const failing = (one: Job) => {
      if (one.id === 'sync') throw new Error('thrown');
      return one.id === 'async' ? Promise.reject(new Error('rejected')) : undefined;
    };
    const { clock, scheduler, take } = recorder(start, { fire: failing });
    scheduler.start();
    for (const id of ['sync', 'async', 'fine'])
      scheduler.add(job(id, '* * * * *', { createdAt: clock.now() }));
    await clock.advanceBy(minute);
    expect(take().sort()).toEqual([
      'error rejected',
      'error thrown',
      'fire async@2026-01-01T00:01:00.000Z',
      'fire fine@2026-01-01T00:01:00.000Z',
      'fire sync@2026-01-01T00:01:00.000Z',
    ]);
    await clock.advanceBy(minute);
    expect(take()).toHaveLength(5);
  });

  it('keeps a one-shot and tries it again, later each time, with the same id', async () => {
    let failures = 3;
    const { clock, scheduler, fires, take } = recorder(start, {
      fire: () => {
        failures -= 1;
        if (failures >= 0) throw new Error('down');
      },
    });
    scheduler.start();
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    await clock.advanceTo('2026-01-01T00:01:59Z');
    expect(take()).toEqual(['fire once@2026-01-01T00:01:00.000Z', 'error down']);
    expect(scheduler.get('once')).toMatchObject({ next: Date.parse('2026-01-01T00:02:00Z') });
    await clock.advanceTo('2026-01-01T00:07:59Z');
    expect(take()).toEqual([
      'fire once@2026-01-01T00:01:00.000Z attempt 2',
      'error down',
      'fire once@2026-01-01T00:01:00.000Z attempt 3',
      'error down',
    ]);
    await clock.advanceTo('2026-01-01T00:08:00Z');
    expect(take()).toEqual(['fire once@2026-01-01T00:01:00.000Z attempt 4', 'finished once']);
    expect(fires).toHaveLength(4);
  });

  it('gives a one-shot up a day after its time', async () => {
    const { clock, scheduler, take } = recorder(start, { fire: () => Promise.reject(new Error('down')) });
    scheduler.start();
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    await clock.advanceBy(26 * 60 * minute);
    const events = take();
    expect(events.filter((event) => event.startsWith('fire')).length).toBeGreaterThan(20);
    expect(events.slice(-2)).toEqual([expect.stringMatching(/^missed once by 24\./), 'finished once']);
    expect(scheduler.list()).toEqual([]);
  });

  it('begins afresh with a one-shot that gets another time', async () => {
    const { clock, scheduler, take } = recorder(start, {
      fire: (_, fire) =>
        fire.scheduledAt < Date.parse('2026-01-01T01:00:00Z') ? Promise.reject(new Error('down')) : 0,
    });
    scheduler.start();
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    await clock.advanceBy(minute);
    scheduler.replace(job('once', '2026-01-01T02:00:00Z'));
    await clock.advanceBy(180 * minute);
    expect(take()).toEqual([
      'fire once@2026-01-01T00:01:00.000Z',
      'error down',
      'fire once@2026-01-01T02:00:00.000Z',
      'finished once',
    ]);
  });
});

describe('hooks', () => {
  it('stand around the handler, awaited, with its failure', async () => {
    const events: string[] = [];
    const later = async (text: string) => {
      await new Promise((resolve) => setImmediate(resolve));
      events.push(text);
    };
    const { clock, scheduler } = recorder(start, {
      beforeFire: (_, fire) => later(`before ${fire.fireId}`),
      fire: async (one) => {
        await later(`run ${one.id}`);
        if (one.id === 'bad') throw new Error('broken');
      },
      afterFire: (_, fire, failure) => later(`after ${fire.fireId} ${failure?.error ?? 'well'}`),
    });
    scheduler.start();
    scheduler.add(job('good', '1 * * * *', { createdAt: clock.now() }));
    scheduler.add(job('bad', '2 * * * *', { createdAt: clock.now() }));
    await clock.advanceBy(2 * minute);
    await scheduler.stop();
    expect(events).toEqual([
      'before good@2026-01-01T00:01:00.000Z',
      'run good',
      'after good@2026-01-01T00:01:00.000Z well',
      'before bad@2026-01-01T00:02:00.000Z',
      'run bad',
      'after bad@2026-01-01T00:02:00.000Z Error: broken',
    ]);
  });

  it('beforeFire keeps a fire from being done twice', async () => {
    const done = new Set(['cron@2026-01-01T00:01:00.000Z', 'once@2026-01-01T00:01:00.000Z']);
    const { clock, scheduler, take } = recorder(start, {
      beforeFire: (_: Job, fire: Fire) => !done.has(fire.fireId),
    });
    scheduler.start();
    scheduler.add(job('cron', '* * * * *', { createdAt: clock.now() }));
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    await clock.advanceBy(2 * minute);
    expect(take()).toEqual(['finished once', 'fire cron@2026-01-01T00:02:00.000Z']);
  });

  it('a failing beforeFire leaves the fire out; a one-shot is kept for later', async () => {
    let broken = true;
    const { clock, scheduler, take } = recorder(start, {
      beforeFire: () => {
        if (broken) throw new Error('disk full');
      },
    });
    scheduler.start();
    scheduler.add(job('cron', '1 * * * *', { createdAt: clock.now() }));
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    await clock.advanceBy(minute);
    expect(take()).toEqual(['error disk full', 'error disk full']);
    broken = false;
    await clock.advanceBy(2 * minute);
    expect(take()).toEqual(['fire once@2026-01-01T00:01:00.000Z attempt 2', 'finished once']);
  });

  it('that fail are reported, and all goes on', async () => {
    const fail = (text: string) => () => Promise.reject(new Error(text));
    const { clock, scheduler, take } = recorder(start, {
      afterFire: fail('after'),
      onFinished: fail('finished'),
      onMissed: fail('missed'),
    });
    scheduler.start();
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    scheduler.add(job('stale', '2025-01-01T00:01:00Z'));
    await clock.advanceBy(minute);
    expect(take()).toEqual([
      'error missed',
      'error finished',
      'fire once@2026-01-01T00:01:00.000Z',
      'error after',
      'error finished',
    ]);
  });
});

describe('stop', () => {
  it('waits for what runs, and fires nothing more', async () => {
    const { clock, scheduler, ends, take } = slow('queue');
    await clock.advanceBy(2 * minute);
    const stopping = scheduler.stop();
    ends[0]?.resolve();
    expect(await stopping).toEqual([]);
    await clock.advanceBy(5 * minute);
    expect(times(take())).toEqual(['fire 00:01']);
    expect(clock.pendingTimers).toBe(0);
    expect(() => scheduler.runNow('slow')).toThrow(expect.objectContaining({ code: 'scheduler_stopped' }));
    expect(await scheduler.stop()).toEqual([]);
  });

  it('gives up after its limit, aborts the signal and names what did not end', async () => {
    const { clock, scheduler, fires, ends } = slow('skip');
    await clock.advanceBy(minute);
    const stopping = scheduler.stop(5000);
    await clock.advanceBy(4999);
    expect(fires[0]?.signal.aborted).toBe(false);
    await clock.advanceBy(1);
    expect(await stopping).toEqual(['slow@2026-01-01T00:01:00.000Z']);
    expect(fires[0]?.signal.aborted).toBe(true);
    ends[0]?.resolve();
  });

  it('waits for the hooks of the last fires too', async () => {
    const written: string[] = [];
    const { clock, scheduler } = recorder(start, {
      onFinished: async (one) => {
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        written.push(one.id);
      },
    });
    scheduler.start();
    scheduler.add(job('once', '2026-01-01T00:01:00Z'));
    await clock.advanceBy(minute);
    await scheduler.stop();
    expect(written).toEqual(['once']);
  });

  it('does not bring back a one-shot that fails meanwhile', async () => {
    const { clock, scheduler, ends, take } = slow('skip', {}, '2026-01-01T00:01:00Z');
    await clock.advanceBy(minute);
    const stopping = scheduler.stop();
    ends[0]?.reject(new Error('cut off'));
    await stopping;
    await clock.advanceBy(10 * minute);
    expect(times(take())).toEqual(['fire 00:01', 'error cut off']);
    expect(scheduler.get('slow')).toBeDefined();
  });
});
