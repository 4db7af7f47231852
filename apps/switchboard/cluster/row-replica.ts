import { join } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '@trunkline/config';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { SealKeyMissing } from '../control/seal.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { nodeName } from './leader.ts';
import { type Sealing, SharedLog } from './workspace-replica.ts';

/** Rows of a switchboard of which every other has a copy. */
export interface SharedRows<Row> {
  /** `flows`: the topic of the entries, and the name of the place in it. */
  subject: 'flows' | 'deliveries' | 'questions';
  onChange(listener: (id: string) => void): void;
  /** A row as it stands now, in at most so many bytes of JSON; undefined when there is none. */
  read(id: string, maxBytes: number): Row | undefined;
  /** Ids of the newest rows that were made here. */
  newest(limit: number): string[];
  /** Stores a copy of another switchboard's row. */
  take(row: Row, node: string): void;
}

interface RowEntry {
  /** Who shares them. */
  node: string;
  /** The rows. */
  sealed: string;
}

/** When a switchboard read the journal from its beginning. */
interface Marker {
  node: string;
  at: number;
}

/** Changes reach the others this late, several at once. */
const shareEveryMs = 200;
const retryMs = 2000;
/** How long the end of the switchboard waits for rows that are on their way. */
const stopLimitMs = 2000;
/** Of an entry: sealed it stays below a message of NATS, which is a megabyte. */
const mostBytes = 450_000;
/** Of an entry: reading them blocks the process for some milliseconds. */
const mostRows = 100;
/** Rows that wait for the journal; of more the oldest are shared at the next start. */
const mostChanged = 10_000;
/** Shared at the start: a crash may have come before they were. */
const sharedAtStart = 1000;
/** For this long the entries of a switchboard are left out after nobody had its key. */
const skipMs = 60_000;
/** The bus forgets the place of one that is away for seven days. */
const readAgainMs = 6 * 24 * 60 * 60 * 1000;

/**
 * On a shared bus, every switchboard has a copy of the others' rows, so that it can show those of one that is gone. Sealed:
 * they are private. A row is shared as it stands when its turn comes, so that changes that wait for the journal are one entry.
 */
export function createRowReplica<Row>(shared: SharedRows<Row>, { seal, exchange }: Sealing): Plugin {
  const { subject } = shared;
  const topic = `cluster.${subject}`;
  const changed = new Set<string>();
  /** Switchboards whose key nobody has. */
  const skippedUntil = new Map<string, number>();
  let log: SharedLog<RowEntry> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let isStopping = false;
  let node = '';
  let logger: Logger | undefined;

  function note(id: string): void {
    const [oldest] = changed;
    if (changed.size >= mostChanged && oldest !== undefined) changed.delete(oldest);
    changed.add(id);
    plan();
  }

  function plan(waitMs = shareEveryMs): void {
    if (!isSending) timer ??= setTimeout(() => void send(), isStopping ? 0 : waitMs).unref();
  }

  async function send(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (isSending || log === undefined) return;
    isSending = true;
    let sending: string[] = [];
    let waitMs = shareEveryMs;
    try {
      while (changed.size > 0) {
        const { ids, rows } = nextBatch();
        sending = ids;
        if (rows.length > 0) await log.share({ node, sealed: seal.seal(JSON.stringify(rows), topic) });
      }
    } catch (error) {
      logger?.debug({ err: error, topic }, 'failed to share rows');
      waitMs = retryMs;
      // What is left at a stop is shared at the next start.
      if (isStopping) changed.clear();
      else for (const id of sending) changed.add(id);
    }
    isSending = false;
    if (changed.size > 0) plan(waitMs);
  }

  function nextBatch(): { ids: string[]; rows: Row[] } {
    const ids: string[] = [];
    const rows: Row[] = [];
    let bytes = 0;
    for (const id of changed) {
      const row = shared.read(id, mostBytes);
      const size = row === undefined ? 0 : Buffer.byteLength(JSON.stringify(row));
      if (rows.length === mostRows || (rows.length > 0 && bytes + size > mostBytes)) break;
      changed.delete(id);
      ids.push(id);
      if (row !== undefined) rows.push(row);
      bytes += size;
    }
    return { ids, rows };
  }

  async function take({ node: from, sealed }: RowEntry): Promise<void> {
    if (from === node || performance.now() < (skippedUntil.get(from) ?? 0)) return;
    try {
      const rows = JSON.parse(await exchange.open(sealed, topic)) as Row[];
      for (const row of rows) {
        shared.take(row, from);
        // Others have their turn: each is a transaction.
        await nextTurn();
      }
    } catch (error) {
      // A retry would not help, and later entries must not wait.
      logger?.error({ err: error, topic, from }, 'failed to take over rows of another switchboard');
      // Each entry would ask for the key again, which takes seconds.
      if (error instanceof SealKeyMissing) skippedUntil.set(from, performance.now() + skipMs);
    }
  }

  async function start(context: PluginContext): Promise<void> {
    const { bus, home } = context;
    if (bus.status().engine === 'embedded') return;
    logger = context.logger;
    node = await nodeName(home);
    const durable = `${subject}-${node}`;
    log = new SharedLog({ bus, topic, durable, onEntry: take });
    await log.start();
    const marker = join(home, `${subject}-elsewhere.json`);
    const before = (await readJsonFile(marker).catch(() => undefined)) as Marker | undefined;
    // The journal holds what the others did before this one came, also those that are gone.
    if (before?.node !== node || Date.now() - before.at > readAgainMs) {
      await bus.replay({ durable, after: 0 });
      await writeFileAtomic(marker, JSON.stringify({ node, at: Date.now() } satisfies Marker));
    }
    for (const id of shared.newest(sharedAtStart)) note(id);
    shared.onChange(note);
  }

  /** What handlers change until the bus has drained is still shared, at once. */
  async function stop(): Promise<void> {
    isStopping = true;
    await Promise.race([send(), delay(stopLimitMs, undefined, { ref: false })]);
    await log?.stop();
  }

  return { name: `${subject}-replica`, start, stop };
}
