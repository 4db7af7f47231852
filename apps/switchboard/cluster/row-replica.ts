import { join } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '@trunkline/config';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { type Seal, SealKeyMissing } from '../control/seal.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { nodeName } from './leader.ts';
import { type Sealing, SharedLog } from './workspace-replica.ts';

/** Rows of a switchboard of which every other has a copy. */
export interface SharedRows<Row> {
  /** `flows`: the topic of the entries, and the name of the place in it. */
  subject: 'flows' | 'deliveries' | 'questions';
  /** Of a row that was shared lately, minor changes wait for some seconds. */
  onChange(listener: (id: string, isMinor?: boolean) => void): void;
  /** A row as it stands now, in at most so many bytes of JSON; undefined when there is none. */
  read(id: string, maxBytes: number): Row | undefined;
  /** Ids of the newest rows that were made here and have changed since. */
  newest(limit: number, since: number): string[];
  /** Stores a copy of another switchboard's row. */
  take(row: Row, node: string): void;
}

/** With the keys that are here. */
export interface RowSealing extends Sealing {
  seal: Pick<Seal, 'seal' | 'has'>;
}

interface RowEntry {
  /** Who shares them. */
  node: string;
  /** The rows. */
  sealed: string;
}

/** In the home: what a switchboard has read and shared. */
interface Marker {
  node: string;
  /** When it read the journal from its beginning. */
  at: number;
  /** Until it meets another, nobody needs copies. */
  hasMet?: boolean;
  /** The journal has its rows as they stood at this time. */
  sharedTo?: number;
}

/** Changes reach the others this late, several at once. */
const shareEveryMs = 200;
/** A row that changes often is shared this often; each time takes room in the journal. */
const rowEveryMs = 5000;
const lookEveryMs = 1000;
/** How often it is recorded how far rows were shared; after a crash those of this time are shared again. */
const recordEveryMs = 10_000;
const retryMs = 2000;
/** How long the end of the switchboard waits for rows that are on their way. */
const stopLimitMs = 2000;
/** Of an entry: sealed it stays below a message of NATS, which is a megabyte. */
const mostBytes = 450_000;
/** Of an entry: reading them blocks the process for some milliseconds. */
const mostRows = 100;
/** Rows that wait for the journal; of more the oldest are shared at the next start. */
const mostChanged = 10_000;
/** Shared with the first switchboard that this one meets. */
const sharedAtFirst = 1000;
/** For this long the entries of a switchboard are left out after nobody had its key, unless it comes. */
const skipMs = 60_000;
/** The bus forgets the place of one that is away for seven days. */
const readAgainMs = 6 * 24 * 60 * 60 * 1000;

/**
 * On a shared bus, every switchboard has a copy of the others' rows, so that it can show those of one that is gone. Sealed:
 * they are private. A row is shared as it stands when its turn comes, so that changes that wait for the journal are one entry.
 */
export function createRowReplica<Row>(shared: SharedRows<Row>, { seal, exchange }: RowSealing): Plugin {
  const { subject } = shared;
  const topic = `cluster.${subject}`;
  const changes = createChanges(() => plan());
  const { due } = changes;
  /** Keys that nobody had: what they seal is left out, and read again once the key is here. */
  const skippedUntil = new Map<string, number>();
  let log: SharedLog<RowEntry> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ticking: NodeJS.Timeout | undefined;
  let isSending = false;
  let isStopping = false;
  let marker: Marker = { node: '', at: 0 };
  let markerFile = '';
  let recording: Promise<void> | undefined;
  let recordedAt = 0;
  /** Something was shared since it was recorded how far. */
  let isUnrecorded = false;
  let logger: Logger | undefined;

  function note(id: string, isMinor = false): void {
    if (marker.hasMet === true) changes.add(id, isMinor);
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
      while (due.size > 0) {
        const { ids, rows } = nextBatch();
        sending = ids;
        const { node } = marker;
        if (rows.length > 0) await log.share({ node, sealed: seal.seal(JSON.stringify(rows), topic) });
        isUnrecorded = true;
      }
    } catch (error) {
      logger?.debug({ err: error, topic }, 'failed to share rows');
      waitMs = retryMs;
      // What is left at a stop is shared at the next start.
      if (isStopping) changes.drop();
      else for (const id of sending) due.add(id);
    }
    isSending = false;
    if (due.size > 0) plan(waitMs);
  }

  function nextBatch(): { ids: string[]; rows: Row[] } {
    const ids: string[] = [];
    const rows: Row[] = [];
    let bytes = 0;
    for (const id of due) {
      const row = shared.read(id, mostBytes);
      const size = row === undefined ? 0 : Buffer.byteLength(JSON.stringify(row));
      if (rows.length === mostRows || (rows.length > 0 && bytes + size > mostBytes)) break;
      due.delete(id);
      if (!isStopping) changes.rest(id);
      ids.push(id);
      if (row !== undefined) rows.push(row);
      bytes += size;
    }
    return { ids, rows };
  }

  async function take({ node: from, sealed }: RowEntry): Promise<void> {
    if (from === marker.node) return;
    meet();
    const [key = ''] = sealed.split('.');
    if (performance.now() < (skippedUntil.get(key) ?? 0) && !seal.has(key)) return;
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
      if (error instanceof SealKeyMissing) skippedUntil.set(key, performance.now() + skipMs);
    }
  }

  function meet(): void {
    if (marker.hasMet === true) return;
    void record({ hasMet: true });
    shareUnshared();
  }

  function shareUnshared(): void {
    const { sharedTo } = marker;
    const limit = sharedTo === undefined ? sharedAtFirst : mostChanged;
    for (const id of shared.newest(limit, sharedTo ?? 0)) note(id);
  }

  async function record(more: Partial<Marker>): Promise<void> {
    marker = { ...marker, ...more };
    recording = writeFileAtomic(markerFile, JSON.stringify(marker)).catch((error: unknown) =>
      logger?.warn({ err: error, file: markerFile }, 'failed to record what was shared'),
    );
    await recording;
  }

  /** Resolves when it is recorded how far rows were shared, if that is certain. */
  async function recordShared(): Promise<void> {
    const sharedTo = changes.sharedTo();
    if (isSending || !isUnrecorded || sharedTo === undefined) return;
    isUnrecorded = false;
    recordedAt = performance.now();
    await record({ sharedTo });
  }

  async function start(context: PluginContext): Promise<void> {
    const { bus, home, peers } = context;
    if (bus.status().engine === 'embedded') return;
    logger = context.logger;
    const node = await nodeName(home);
    markerFile = join(home, `${subject}-elsewhere.json`);
    const before = (await readJsonFile(markerFile).catch((error: unknown) => {
      // As on the first start: the journal is read again.
      context.logger.warn({ err: error, file: markerFile }, 'failed to read what was shared');
    })) as Marker | undefined;
    marker = before?.node === node ? before : { node, at: 0 };
    shared.onChange(note);
    const durable = `${subject}-${node}`;
    log = new SharedLog({ bus, topic, durable, onEntry: take });
    await log.start();
    // The journal holds what the others did before this one came, also those that are gone.
    if (Date.now() - marker.at > readAgainMs) {
      await bus.replay({ durable, after: 0 });
      await record({ at: Date.now() });
    }
    // A crash may have come before they were shared.
    if (marker.hasMet === true) shareUnshared();
    const readSkipped = async () => {
      const found = [...skippedUntil].filter(([key]) => seal.has(key));
      if (found.length === 0) return;
      for (const [key] of found) skippedUntil.delete(key);
      await bus.replay({ durable, after: 0 }).catch((error: unknown) => {
        logger?.debug({ err: error, topic }, 'failed to read rows again');
        for (const [key, until] of found) skippedUntil.set(key, until);
      });
    };
    const look = () => {
      if (peers.list().length > 1) meet();
      void readSkipped();
      changes.wake();
      if (performance.now() - recordedAt > recordEveryMs) void recordShared();
    };
    ticking = setInterval(look, lookEveryMs).unref();
  }

  /** What handlers change until the bus has drained is still shared, at once. */
  async function stop(): Promise<void> {
    isStopping = true;
    clearInterval(ticking);
    changes.wake(true);
    await Promise.race([send(), delay(stopLimitMs, undefined, { ref: false })]);
    await recordShared();
    await recording;
    await log?.stop();
  }

  const description = `Shares ${subject} with the other switchboards of a bus.`;
  return { name: `${subject}-replica`, description, start, stop };
}

/** Rows that changed and are not shared yet; minor changes of those that were shared lately wait. */
function createChanges(onDue: () => void) {
  const due = new Set<string>();
  /** Rows that were shared lately, the oldest first. */
  const resting = new Map<string, { until: number; changedAt?: number }>();
  let hasDropped = false;

  function add(id: string, isMinor = false): void {
    const rests = resting.get(id);
    if (isMinor && rests !== undefined) {
      rests.changedAt ??= Date.now();
      return;
    }
    resting.delete(id);
    const [oldest] = due;
    if (due.size >= mostChanged && oldest !== undefined) {
      due.delete(oldest);
      hasDropped = true;
    }
    due.add(id);
    onDue();
  }

  function rest(id: string): void {
    resting.delete(id);
    resting.set(id, { until: performance.now() + rowEveryMs });
    const [oldest] = resting.keys();
    if (resting.size > mostChanged && oldest !== undefined) rouse(oldest);
  }

  function rouse(id: string): void {
    const isChanged = resting.get(id)?.changedAt !== undefined;
    resting.delete(id);
    if (isChanged) add(id);
  }

  /** Ends the rest of those that have rested long enough, or of all. */
  function wake(isAll = false): void {
    for (const [id, { until }] of resting) {
      if (!isAll && until > performance.now()) return;
      rouse(id);
    }
  }

  function drop(): void {
    due.clear();
    hasDropped = true;
  }

  /** All that changed before this time was shared; undefined when that is not certain. */
  function sharedTo(): number | undefined {
    if (hasDropped || due.size > 0) return undefined;
    let time = Date.now();
    for (const { changedAt = time } of resting.values()) time = Math.min(time, changedAt);
    return time;
  }

  return { due, add, rest, wake, drop, sharedTo };
}
