import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEvent, Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AuditLog, type AuditLogOptions, auditFile } from './audit-log.ts';

const ava: Principal = { kind: 'person', id: 'voice:ava', via: ['voice', 'agent'] };
const event: AuditEvent = { service: 'agent', action: 'tool.call', subject: 'fetch_url', principal: ava };

function start(options: Partial<AuditLogOptions> = {}) {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const failures: string[] = [];
  const logger = { error: (_: object, message: string) => failures.push(message) };
  const open = (more: Partial<AuditLogOptions> = {}) => {
    const log = new AuditLog({ home: directory.path, logger, ...options, ...more });
    onTestFinished(() => log.close());
    return log;
  };
  /** Changes the file behind the log's back, as somebody with write access would. */
  const tamper = (sql: string) => {
    const database = new DatabaseSync(auditFile(directory.path));
    database.exec(sql);
    database.close();
  };
  return { log: open(), open, tamper, failures, home: directory.path };
}

it('keeps who asked, on whose behalf, what, and the decision, but only a hash of the arguments', () => {
  const { log, home } = start();
  log.append({
    ...event,
    arguments: { url: 'https://example.org/?key=s3cret' },
    decision: 'ask',
    rule: 'tainted network read',
    result: 'denied by operator',
    task: 'task-1',
  });
  const [entry] = log.list();
  expect(entry).toMatchObject({
    sequence: 1,
    service: 'agent',
    principal: 'person:voice:ava',
    via: ['voice', 'agent'],
    argumentsHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    decision: 'ask',
    rule: 'tainted network read',
    task: 'task-1',
  });
  expect(JSON.stringify(entry)).not.toContain('s3cret');
  expect(statSync(auditFile(home)).mode & 0o077).toBe(0);
});

it('lists the newest first, by filter and in pages', () => {
  const { log } = start();
  for (let index = 1; index <= 5; index++) log.append({ ...event, subject: `tool_${index}` });
  log.append({
    ...event,
    service: 'voice',
    action: 'operator.sign-in',
    decision: 'deny',
    result: 'Wrong key',
  });
  expect(log.list({ limit: 2 }).map(({ sequence }) => sequence)).toEqual([6, 5]);
  expect(log.list({ limit: 2, before: 5 }).map(({ subject }) => subject)).toEqual(['tool_4', 'tool_3']);
  expect(log.list({ service: 'voice', decision: 'deny', search: 'wrong KEY' })).toHaveLength(1);
  expect(log.list({ principal: 'operator:operator' })).toEqual([]);
  log.append({ ...event, principal: { ...ava, via: ['schedule:tea'] } });
  log.append({ ...event, principal: { kind: 'schedule', id: 'schedule:tea', via: [] } });
  // As it was written when schedules were services.
  log.append({ ...event, principal: { kind: 'service', id: 'schedule:tea', via: [] } });
  const found = (principal: string) => log.list({ principal }).map(({ sequence }) => sequence);
  expect(found('schedule:tea')).toEqual([9, 8, 7]);
  expect(log.list({ limit: 2 }).at(-1)?.principal).toBe('schedule:tea');
  expect(found('person:voice:ava')).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect([found('schedule'), found('voice:av')]).toEqual([[], []]);
});

describe('the chain', () => {
  it('is one for all processes that write to it', async () => {
    const { log, open } = start();
    const other = open();
    for (let index = 0; index < 20; index++) (index % 2 ? log : other).append(event);
    expect(await log.verify()).toEqual({ entries: 20, head: log.list({ limit: 1 })[0]?.hash });
  });

  it.each([
    ['a changed entry', "UPDATE entries SET decision = 'allow' WHERE sequence = 3", 3],
    ['a removed entry', 'DELETE FROM entries WHERE sequence = 3', 4],
    ['an exchanged arguments hash', "UPDATE entries SET argumentsHash = 'x' WHERE sequence = 5", 5],
  ])('shows %s', async (_, sql, brokenAt) => {
    const { log, tamper } = start();
    for (let index = 0; index < 6; index++) log.append({ ...event, decision: 'deny' });
    expect(() => tamper(sql)).toThrow('append-only');
    tamper(
      'DROP TRIGGER entries_are_never_changed; DROP TRIGGER entries_are_removed_from_the_oldest_on; '.concat(
        sql,
      ),
    );
    expect(await log.verify()).toMatchObject({ brokenAt });
  });

  it('stays verifiable when old entries are removed', async () => {
    const clock = { now: Date.parse('2026-01-01') };
    const { log, open } = start({ retentionDays: 30, now: () => clock.now });
    for (let index = 0; index < 3; index++) log.append(event);
    clock.now += 20 * 24 * 3_600_000;
    log.append(event);
    clock.now += 20 * 24 * 3_600_000;
    const later = open();
    later.append(event);
    expect(later.list().map(({ sequence }) => sequence)).toEqual([5, 4]);
    expect(await later.verify()).toMatchObject({ entries: 2 });
    expect(await later.verify()).not.toHaveProperty('brokenAt');
  });

  it('goes on behind what another process has written and removed meanwhile', async () => {
    const { log, open } = start({ retentionDays: 1 });
    log.append(event);
    const other = open();
    other.append(event);
    other.close();
    const ahead = open({ now: () => Date.now() + 30 * 24 * 3_600_000 });
    expect(ahead.list()).toEqual([]);
    expect(log.append(event).sequence).toBe(3);
    expect(await log.verify()).toMatchObject({ entries: 1 });
    expect(await log.verify()).not.toHaveProperty('brokenAt');
  });
});

it('says in the log of the service when an entry cannot be written', () => {
  const { log, tamper, failures } = start();
  log.append(event);
  log.close();
  tamper('DROP TABLE entries');
  expect(() => log.append(event)).toThrow();
  log.record(event);
  expect(failures).toEqual(['failed to write the audit log']);
});
