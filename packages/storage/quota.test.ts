import { describe, expect, it, onTestFinished } from 'vitest';
import { dailyQuota, openDatabase, Quota, storedBytes, TtlTable, ttlTableMigration } from './index.ts';

const megabyte = 2 ** 20;

describe('a quota', () => {
  function quota(kept: Record<string, number> = {}) {
    const counted: string[] = [];
    let time = 0;
    const usedBy = (owner: string) => {
      counted.push(owner);
      return kept[owner] ?? 0;
    };
    const subject = new Quota({ limitBytes: 2 * megabyte, usedBy, now: () => time });
    return { subject, counted, kept, pass: (ms: number) => (time += ms) };
  }

  it('counts what is kept, and says who keeps how much', () => {
    const { subject } = quota({ 'person:user:ava': 1.5 * megabyte });
    expect(subject.refusal('person:user:ava', megabyte / 2)).toBeUndefined();
    expect(subject.refusal('person:user:bob', 2 * megabyte)).toBeUndefined();
    expect(quota({ anonymous: 2 * megabyte }).subject.refusal('anonymous', 1)).toBe(
      'anonymous keeps 2.0 MB here and may keep 2.0 MB (QUOTA_MB): delete something, or ask the operator for more',
    );
  });

  it('adds what comes in between two counts, and counts a full one again every second', () => {
    const { subject, counted, kept, pass } = quota();
    for (let piece = 0; piece < 4; piece += 1)
      expect(subject.refusal('anonymous', megabyte / 2)).toBeUndefined();
    kept.anonymous = 2 * megabyte;
    expect(subject.refusal('anonymous', 1)).toBeDefined();
    expect(counted).toHaveLength(1);
    pass(1000);
    expect(subject.refusal('anonymous', 1)).toBeDefined();
    kept.anonymous = 0;
    expect(subject.refusal('anonymous', 1)).toBeDefined();
    pass(1000);
    expect(subject.refusal('anonymous', 1)).toBeUndefined();
    pass(59_999);
    expect(subject.refusal('anonymous', 1)).toBeUndefined();
    expect(counted).toHaveLength(3);
    pass(1);
    expect(subject.refusal('anonymous', 1)).toBeUndefined();
    expect(counted).toHaveLength(4);
  });

  it('can be for a time, with advice of its own', () => {
    let time = 0;
    const [limitBytes, day] = [megabyte, 86_400_000];
    const subject = new Quota({
      limitBytes,
      usedBy: () => 0,
      recountMs: day,
      recountFullMs: day,
      advice: 'wait',
      now: () => time,
    });
    expect(subject.refusal('agent:ci', megabyte)).toBeUndefined();
    time = day - 1;
    expect(subject.refusal('agent:ci', 1)).toMatch(/\(QUOTA_MB\): wait$/);
    time = day;
    expect(subject.refusal('agent:ci', 1)).toBeUndefined();
  });

  it('of a day goes on after a restart', () => {
    const database = openDatabase(':memory:', { migrations: [ttlTableMigration('sent')] });
    onTestFinished(() => database.close());
    const restarted = () => dailyQuota({ quotaMb: 1 }, new TtlTable(database, 'sent'));
    expect(restarted().refusal('agent:ci', 0.9 * megabyte)).toBeUndefined();
    expect(restarted().refusal('agent:bob', 0.2 * megabyte)).toBeUndefined();
    expect(restarted().refusal('agent:ci', 0.2 * megabyte)).toMatch(/keeps 0.9 MB.*wait a day/);
  });

  it('does not bind the operator, nor anybody at 0', () => {
    expect(quota().subject.refusal('operator:operator', 9 * megabyte)).toBeUndefined();
    const unlimited = new Quota({ limitBytes: 0, usedBy: () => 9 * megabyte });
    expect(unlimited.refusal('anonymous', megabyte)).toBeUndefined();
  });

  it('counts more seldom where counting takes long', () => {
    const { subject, counted, pass } = quota({ 'person:user:ava': 3 * megabyte });
    const slow = new Quota({
      limitBytes: 2 * megabyte,
      usedBy: () => {
        pass(2000);
        counted.push('slow');
        return 3 * megabyte;
      },
      now: () => pass(0),
    });
    for (let second = 0; second < 90; second += 1, pass(1000)) {
      expect(subject.refusal('person:user:ava', 1)).toContain('keeps 3.0 MB');
      expect(slow.refusal('person:user:ava', 1)).toContain('keeps 3.0 MB');
    }
    expect(counted.filter((owner) => owner === 'slow')).toHaveLength(1);
    expect(counted.filter((owner) => owner !== 'slow')).toHaveLength(90);
    pass(20_000);
    slow.refusal('person:user:ava', 1);
    expect(counted.filter((owner) => owner === 'slow')).toHaveLength(2);
  });

  it('counts the place of rows whose texts are empty', () => {
    const database = openDatabase(':memory:', {
      migrations: ['CREATE TABLE things (owner TEXT NOT NULL, text TEXT NOT NULL) STRICT'],
    });
    onTestFinished(() => database.close());
    for (let count = 0; count < 1000; count += 1)
      database.prepare("INSERT INTO things VALUES ('agent:ci', '')").run();
    const bytesOf = (owner: string) =>
      storedBytes(database, 'things', ['text'], 'owner BETWEEN ?1 AND ?2', owner);
    expect(bytesOf('agent:ci')).toBeGreaterThan(100_000);
    expect(bytesOf('agent:other')).toBe(0);
  });
});
