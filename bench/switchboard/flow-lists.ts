// `GET /api/flows?since=` as a client sees it: a switchboard in a process of its own with 300,000 flows of seven days, nine of
// ten longer than a second, half of them of one person. `node bench/switchboard/flow-lists.ts` runs it alone.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { openAccounts } from '@trunkline/accounts';
import { accountPrincipal, ownerKey, readOperatorKey } from '@trunkline/identity';
import { FlowStore } from '../../apps/switchboard/flows/flow-store.ts';
import { startProgram } from '../agent/processes.ts';
import { median, percentile } from '../bus/measure.ts';
import type { BenchResult } from '../result.ts';

const count = 300_000;
const hour = 3_600_000;
const spans = { '1 h': hour, '3 d': 72 * hour, '7 d': 168 * hour };
const asked = 50;
const listed = 200;

export async function measureFlowLists(home: string): Promise<BenchResult[]> {
  const person = addPerson(home);
  fill(join(home, 'switchboard'), person.owner);
  const board = await startProgram(
    [join(import.meta.dirname, '../../bin/trunkline.js'), 'switchboard', '--port', '0'],
    { TRUNKLINE_HOME: home },
  );
  try {
    const url = new URL(board.url).origin;
    const viewers = { 'the operator': readOperatorKey(home) ?? '', 'a person with 150,000': person.key };
    const rows: BenchResult[] = [];
    for (const [viewer, key] of Object.entries(viewers))
      for (const [span, ms] of Object.entries(spans)) {
        const times = await timesOf(`${url}/api/flows?limit=${listed}&since=${Date.now() - ms}`, key);
        rows.push(
          row(`${viewer}, since ${span}, half below`, median(times)),
          row(`${viewer}, since ${span}, 95 of 100 below`, percentile(times, 0.95)),
        );
      }
    return rows;
  } finally {
    await board.stop();
  }
}

/** One request after the other over a connection that is kept, from the first byte asked to the last byte read. */
async function timesOf(url: string, key: string): Promise<number[]> {
  const times: number[] = [];
  for (let index = -5; index < asked; index += 1) {
    const start = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    const text = await response.text();
    if (index >= 0) times.push(performance.now() - start);
    const flows = response.status === 200 ? JSON.parse(text).data.flows.length : 0;
    if (flows !== listed)
      throw new Error(`${url} gave ${flows} flows: ${response.status} ${text.slice(0, 200)}`);
  }
  return times;
}

function addPerson(home: string): { key: string; owner: string } {
  const accounts = openAccounts({ home, logger: { warn: () => undefined } });
  const { id } = accounts.create({ name: 'Ann', role: 'member' });
  const { key } = accounts.createKey(id, 'bench');
  accounts.close();
  return { key, owner: ownerKey(accountPrincipal(id, 'member')) };
}

function fill(directory: string, owner: string): void {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'flows.db');
  new FlowStore(path).close();
  const database = new DatabaseSync(path);
  // A minute less than seven days: older ones are deleted at the start.
  const span = spans['7 d'] - 60_000;
  database
    .prepare(
      `INSERT INTO flows (id, messageId, correlationId, type, status, stage, createdAt, startedAt, completedAt, durationMs, skill, updatedAt, owner, trace)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1),
           timed AS (SELECT i, CAST(?2 + i * ?3 AS INTEGER) AS at, iif(i % 10 = 0, 1, 5000) AS took FROM n)
         SELECT 'skill-c' || i, 'm' || i, 'c' || i, 'skill', 'complete', 'done', at, at, at + took, took, 'work', at + took,
           iif(i % 2 = 0, ?4, 'operator'), '[]' FROM timed`,
    )
    .run(count, Date.now() - span, span / count, owner);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

function row(name: string, ours: number): BenchResult {
  const about = `GET /api/flows?since= of 300,000: ${name}`;
  return { name: about, unit: 'ms', ours, peers: {}, ratio: 0, better: 'lower', goal: 'below 10 ms' };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  try {
    console.table(await measureFlowLists(home), ['name', 'unit', 'ours', 'goal']);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
