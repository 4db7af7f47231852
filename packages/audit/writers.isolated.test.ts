// Processes that append at once, one of them killed, and files that somebody has cut.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEvent } from '@trunkline/identity';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { AuditLog, auditFile } from './audit-log.ts';

const event: AuditEvent = {
  service: 'agent',
  action: 'tool.call',
  subject: 'write_file',
  principal: { kind: 'anonymous', id: 'anonymous', via: [] },
};

function open(home: string) {
  const failures: string[] = [];
  const log = new AuditLog({ home, logger: { error: (_, message) => void failures.push(message) } });
  onTestFinished(() => log.close());
  return { log, failures };
}

/** Appends `count` entries, or without end. */
function writer(home: string, name: string, count = Number.MAX_SAFE_INTEGER): ChildProcess {
  const program = `
    import { AuditLog } from ${JSON.stringify(join(import.meta.dirname, 'audit-log.ts'))};
    const log = new AuditLog({ home: ${JSON.stringify(home)}, logger: { error: (fields) => { throw fields.err; } } });
    for (let index = 0; index < ${count}; index += 1)
      log.record({ ...${JSON.stringify(event)}, service: ${JSON.stringify(name)}, task: String(index) });
    log.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('stays whole while several processes write and one is killed', async () => {
  const { path: home, remove } = temporaryDirectory();
  onTestFinished(remove);
  const { log } = open(home);
  log.append(event);
  const killed = writer(home, 'killed');
  const others = ['one', 'two'].map((name) => writer(home, name, 150));
  const ends = others.map((child) => once(child, 'exit'));
  await waitFor(() => log.list({ service: 'killed' }).length > 20);
  const gone = once(killed, 'exit');
  killed.kill('SIGKILL');
  await gone;
  expect((await Promise.all(ends)).map(([code]) => code)).toEqual([0, 0]);
  log.append(event);
  const { entries, head, brokenAt } = await log.verify();
  expect(brokenAt).toBeUndefined();
  expect(head).toBe(log.list({ limit: 1 })[0]?.hash);
  for (const name of ['one', 'two'])
    expect(log.list({ service: name, limit: 1000 }).map(({ task }) => Number(task))).toEqual(
      Array.from({ length: 150 }, (_, index) => 149 - index),
    );
  expect(log.list({ limit: 1 })[0]?.sequence).toBe(entries);
});

/** A disk of one megabyte, seen only by the process that fills it. */
const smallDisk =
  'exec unshare -rm sh -c \'mount -t tmpfs -o size=1m tmpfs "$1" && shift && exec "$@"\' sh "$@"';

const canMakeSmallDisk = () => {
  const { path, remove } = temporaryDirectory();
  const { status } = spawnSync('sh', ['-c', smallDisk, 'sh', path, 'true']);
  remove();
  return status === 0;
};

it.skipIf(!canMakeSmallDisk())(
  'on a full disk lets nothing with effects be done, and has what was done meanwhile once there is room',
  () => {
    const { path: home, remove } = temporaryDirectory();
    onTestFinished(remove);
    const program = `
    import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
    import { AuditLog } from ${JSON.stringify(join(import.meta.dirname, 'audit-log.ts'))};
    const home = ${JSON.stringify(home)};
    const failures = [];
    const logger = { error: (_, message) => failures.push(message) };
    const log = new AuditLog({ home, isRequired: true, logger });
    const event = ${JSON.stringify(event)};
    const fill = () => {
      const file = openSync(home + '/filler', 'a');
      try { for (;;) writeSync(file, Buffer.alloc(512)); } catch {} finally { closeSync(file); }
    };
    const said = [log.refusal()];
    log.record({ ...event, task: 'before' });
    fill();
    // Until the last page that SQLite already has is full.
    let under = 0;
    while (failures.length === 0 && under < 10_000) log.record({ ...event, task: String(under++) });
    said.push(log.refusal());
    said.push(new AuditLog({ home, logger }).refusal());
    rmSync(home + '/filler');
    said.push(log.refusal());
    const newest = log.list({ limit: 1 })[0];
    const { brokenAt } = await log.verify();
    console.log(JSON.stringify({ said: said.map((each) => each ?? null), last: under - 1, task: newest.task, brokenAt }));`;
    const given = [home, process.execPath, '--input-type=module', '-e', program];
    const { stdout, stderr } = spawnSync('sh', ['-c', smallDisk, 'sh', ...given], { encoding: 'utf8' });
    const { said, last, task, brokenAt } = JSON.parse(stdout || '{}');
    const refused = expect.stringMatching(/audit\.db cannot be written \(.*AUDIT_REQUIRED=off/);
    expect(said, stderr).toEqual([null, refused, null, null]);
    expect({ task, brokenAt }).toEqual({ task: String(last), brokenAt: undefined });
  },
);

it.each([0.1, 0.5, 0.9])('of a file that was cut to %d of its length is not called whole', async (part) => {
  const { path: home, remove } = temporaryDirectory();
  onTestFinished(remove);
  const first = open(home);
  for (let index = 0; index < 200; index += 1) first.log.append({ ...event, task: 'x'.repeat(400) });
  const { head } = await first.log.verify();
  first.log.close();
  truncateSync(auditFile(home), Math.floor(statSync(auditFile(home)).size * part));
  const second = open(home);
  const verified = await second.log.verify().catch((error: Error) => error);
  const isFound = verified instanceof Error || verified.brokenAt !== undefined || verified.head !== head;
  expect(isFound).toBe(true);
  // The service goes on and says so, whatever is left of the file.
  expect(() => second.log.record(event)).not.toThrow();
  if (verified instanceof Error) expect(verified.message).toContain('audit.db');
});
