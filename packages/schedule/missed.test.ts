import { describe, expect, it } from 'vitest';
import { job, recorder } from './recorder.suite.ts';

const hour = 3_600_000;
const at = (text: string) => Date.parse(text);

describe('a start after fires were missed', () => {
  it('fires once, for the newest missed time', async () => {
    const { clock, scheduler, take } = recorder('2026-01-02T12:30:00Z');
    scheduler.add(job('hourly', '0 * * * *', { lastFired: at('2026-01-01T05:00:00Z') }));
    scheduler.add(job('daily', '0 9 * * *', { lastFired: at('2026-01-01T09:00:00Z') }));
    scheduler.start();
    await clock.advanceBy(0);
    expect(take()).toEqual([
      'fire daily@2026-01-02T09:00:00.000Z missed',
      'fire hourly@2026-01-02T12:00:00.000Z missed',
    ]);
    await clock.advanceBy(hour);
    expect(take()).toEqual(['fire hourly@2026-01-02T13:00:00.000Z']);
  });

  it('fires nothing that was fired, or that lies before the job was made', async () => {
    const { clock, scheduler, take } = recorder('2026-01-02T12:30:00Z');
    scheduler.add(job('fired', '0 9 * * *', { lastFired: at('2026-01-02T09:00:00Z') }));
    scheduler.add(job('new', '0 9 * * *', { createdAt: at('2026-01-02T09:00:01Z') }));
    scheduler.start();
    await clock.advanceBy(hour);
    expect(take()).toEqual([]);
  });

  it('fires at 24 hours late and skips with a report beyond', async () => {
    const { clock, scheduler, take } = recorder('2026-01-02T12:00:00Z');
    scheduler.add(job('just', '0 12 1 * *', { lastFired: at('2025-12-01T12:00:00Z') }));
    scheduler.add(job('over', '59 11 1 * *', { lastFired: at('2025-12-01T11:59:00Z') }));
    scheduler.start();
    await clock.advanceBy(0);
    expect(take()).toEqual([`missed over by ${24 + 1 / 60} h`, 'fire just@2026-01-01T12:00:00.000Z missed']);
    expect(scheduler.get('over')).toMatchObject({ next: at('2026-02-01T11:59:00Z') });
  });

  it('fires a missed one-shot, and drops one that is over a day late', async () => {
    const { clock, scheduler, take } = recorder('2026-01-02T12:00:00Z');
    scheduler.add(job('late', '2026-01-01T13:00:00Z'));
    scheduler.add(job('stale', '2026-01-01T11:00:00Z'));
    scheduler.start();
    await clock.advanceBy(0);
    expect(take()).toEqual([
      'missed stale by 25 h',
      'finished stale',
      'fire late@2026-01-01T13:00:00.000Z missed',
      'finished late',
    ]);
    expect(scheduler.list()).toEqual([]);
  });

  it('does not fire a one-shot again whose record outlived its fire', async () => {
    const { clock, scheduler, take } = recorder('2026-01-02T12:00:00Z');
    scheduler.add(job('done', '2026-01-02T11:00:00Z', { lastFired: at('2026-01-02T11:00:00Z') }));
    scheduler.start();
    await clock.advanceBy(0);
    expect(take()).toEqual(['finished done']);
  });

  it('leaves paused jobs alone', async () => {
    const { clock, scheduler, take } = recorder('2026-01-02T12:00:00Z');
    scheduler.add(job('cron', '0 * * * *', { paused: true }));
    scheduler.add(job('once', '2026-01-01T11:00:00Z', { paused: true }));
    scheduler.start();
    await clock.advanceBy(2 * hour);
    expect(take()).toEqual([]);
    expect(scheduler.list()).toHaveLength(2);
  });

  it('waits for the rest of the jitter', async () => {
    const run = async (restart: string) => {
      const { clock, scheduler, events } = recorder(restart);
      scheduler.add(job('a', '0 9 * * *', { lastFired: at('2026-01-01T09:00:00Z'), jitterMs: hour }));
      scheduler.start();
      const due = scheduler.get('a')?.next ?? 0;
      await clock.advanceTo('2026-01-02T10:00:00Z');
      return { due, events };
    };
    const undisturbed = await run('2026-01-02T08:00:00Z');
    const restarted = await run('2026-01-02T09:00:01Z');
    expect(undisturbed.events).toEqual(['fire a@2026-01-02T09:00:00.000Z']);
    expect(restarted).toEqual(undisturbed);
  });
});

describe('a clock that jumps', () => {
  it('forward, as after a sleep: each job fires once, for its newest time, within half a minute', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:30Z');
    scheduler.add(job('minutely', '* * * * *', { createdAt: clock.now() }));
    scheduler.add(job('hourly', '0 * * * *', { createdAt: clock.now() }));
    scheduler.start();
    clock.jumpBy(5 * hour);
    await clock.advanceBy(30_000);
    expect(take()).toEqual([
      'fire minutely@2026-01-01T05:01:00.000Z missed',
      'fire hourly@2026-01-01T05:00:00.000Z missed',
    ]);
    await clock.advanceBy(60_000);
    expect(take()).toEqual(['fire minutely@2026-01-01T05:02:00.000Z']);
  });

  it('forward: a job made after the jump makes it noticed at once', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:30Z');
    scheduler.add(job('hourly', '0 * * * *', { createdAt: clock.now() }));
    scheduler.start();
    clock.jumpBy(1.5 * hour);
    scheduler.add(job('new', '0 12 * * *', { createdAt: clock.now() }));
    await clock.advanceBy(0);
    expect(take()).toEqual(['fire hourly@2026-01-01T01:00:00.000Z missed']);
  });

  it('forward over more than a day: what is too late is reported', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T00:00:30Z');
    scheduler.add(job('monthly', '0 1 1 * *', { createdAt: clock.now() }));
    scheduler.add(job('once', '2026-01-01T02:00:00Z'));
    scheduler.start();
    clock.jumpBy(48 * hour);
    await clock.advanceBy(30_000);
    expect(take()).toEqual([
      expect.stringMatching(/^missed monthly by 47\.0/),
      expect.stringMatching(/^missed once by 46\.0/),
      'finished once',
    ]);
  });

  it('back: nothing fires a second time, and what lies ahead fires at its time', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T09:59:00Z');
    scheduler.add(job('hourly', '0 * * * *', { createdAt: clock.now() }));
    scheduler.start();
    await clock.advanceTo('2026-01-01T10:30:00Z');
    clock.jumpBy(-hour);
    await clock.advanceTo('2026-01-01T10:59:00Z');
    expect(take()).toEqual(['fire hourly@2026-01-01T10:00:00.000Z']);
    await clock.advanceTo('2026-01-01T11:00:00Z');
    expect(take()).toEqual(['fire hourly@2026-01-01T11:00:00.000Z']);
  });

  it('back by years, as it was wrong at the start: jobs fire by the new time', async () => {
    const { clock, scheduler, take } = recorder('2036-01-01T00:00:30Z');
    scheduler.add(job('hourly', '0 * * * *', { createdAt: clock.now() }));
    scheduler.add(job('once', '2036-01-01T12:00:00Z', { createdAt: clock.now() }));
    scheduler.start();
    clock.jumpBy(-3652 * 24 * hour);
    await clock.advanceTo('2026-01-01T02:30:00Z');
    expect(take()).toEqual(['fire hourly@2026-01-01T01:00:00.000Z', 'fire hourly@2026-01-01T02:00:00.000Z']);
    expect(scheduler.get('once')?.next).toBe(Date.parse('2036-01-01T12:00:00Z'));
  });

  it('back: a job made after the jump fires by the new time', async () => {
    const { clock, scheduler, take } = recorder('2026-01-01T10:00:00Z');
    scheduler.start();
    scheduler.add(job('early', '0 12 * * *', { createdAt: clock.now() }));
    clock.jumpBy(-5 * hour);
    scheduler.add(job('new', '1 5 * * *', { createdAt: clock.now() }));
    await clock.advanceBy(60_000);
    expect(take()).toEqual(['fire new@2026-01-01T05:01:00.000Z']);
  });
});
