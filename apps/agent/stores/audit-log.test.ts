import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditLog } from './audit-log.ts';

let home = temporaryDirectory();
let failures: string[] = [];
const logger = { error: (_fields: object, message: string) => void failures.push(message) };
const path = () => join(home.path, 'audit', 'audit.jsonl');
const lines = (file = path()) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const entry = { sessionId: 's', tool: 't', args: {}, result: 'ok', durationMs: 12.4, success: true };

beforeEach(() => {
  home = temporaryDirectory();
  failures = [];
});
afterEach(() => home.remove());

describe('the audit log', () => {
  it('writes a line for each call, shortened [A051]', () => {
    const log = new AuditLog({ path: path(), logger, now: () => new Date('2026-01-01T00:00:00Z') });
    log.record({
      ...entry,
      args: { text: 'x'.repeat(600), list: Array(600).fill(1), n: 1 },
      result: 'y'.repeat(300),
      traceId: 'tr',
    });
    const [line] = lines();
    expect(line).toMatchObject({
      ts: '2026-01-01T00:00:00.000Z',
      session_id: 's',
      tool: 't',
      duration_ms: 12,
      success: true,
      trace_id: 'tr',
    });
    expect(line.args.text).toBe(`${'x'.repeat(499)}…`);
    expect(line.args.list).toHaveLength(500);
    expect(line.args.n).toBe(1);
    expect(line.result_summary).toBe(`${'y'.repeat(199)}…`);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  it('holds no secrets, by name or by value', () => {
    const log = new AuditLog({ path: path(), logger, secrets: ['hunter2-secret'] });
    log.record({
      ...entry,
      args: { api_key: 'abc123', note: 'it is hunter2-secret' },
      result: 'got hunter2-secret',
    });
    const text = readFileSync(path(), 'utf8');
    expect(text).not.toContain('hunter2-secret');
    expect(text).not.toContain('abc123');
  });

  it('begins a new file when the old one is full, also after a restart', () => {
    const open = () => new AuditLog({ path: path(), logger, rotateBytes: 300 });
    for (let number = 0; number < 3; number += 1) open().record({ ...entry, tool: `t${number}` });
    expect(lines(`${path()}.1`).map(({ tool }) => tool)).toEqual(['t0', 't1']);
    expect(lines().map(({ tool }) => tool)).toEqual(['t2']);
  });

  it('keeps the line behind one that a crash cut off', async () => {
    const open = () => new AuditLog({ path: path(), logger });
    open().record({ ...entry, tool: 'before' });
    appendFileSync(path(), '{"ts":"2026-01-01T00:00:00.000Z","session_id":"s","to');
    open().record({ ...entry, tool: 'behind' });
    const { lines: read } = await open().read({}, 10);
    expect(read.map(({ tool }) => tool)).toEqual(['behind', 'before']);
  });

  it('does not fail the caller when it cannot write', () => {
    const log = new AuditLog({ path: '/dev/null/audit.jsonl', logger });
    log.record(entry);
    expect(failures).toEqual(['failed to write the audit log']);
    expect(existsSync(path())).toBe(false);
  });
});
