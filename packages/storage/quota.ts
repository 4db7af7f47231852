import { BoundedMap } from '@trunkline/std';
import type { Database } from './database.ts';
import type { TtlTable } from './ttl-table.ts';

export interface QuotaOptions {
  /** Bytes that each owner may keep; 0: no limit. */
  limitBytes: number;
  /** What all strangers of a surface have together (`person:mail:*`), if less. */
  strangersBytes?: number;
  /** What an owner keeps now, counted in the store. */
  usedBy: (owner: string) => number;
  /** Milliseconds that a count stands, with what comes in meanwhile added to it; default a minute. */
  recountMs?: number;
  /** The same for somebody who keeps too much, and may have deleted something; default a second. */
  recountFullMs?: number;
  /** What whoever is refused can do. */
  advice?: string;
  /** The variable that sets the limit; default QUOTA_MB. */
  variable?: string;
  /** Where counts survive a restart; at most a thousandth of the limit is lost. */
  saved?: { get(owner: string): SentBytes | undefined; set(owner: string, count: SentBytes): void };
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** What an owner has, and since when it is counted. */
export interface SentBytes {
  bytes: number;
  countedAt: number;
  /** Milliseconds that counting took. */
  tookMs?: number;
}

/** Counting stops the service meanwhile: one who keeps very much is counted so much more seldom that it takes no more of its time. */
const mostOfTime = 1 / 50;

const maxOwners = 10_000;

/** Bounds what each owner keeps in a store. The operator has no limit; what belongs to nobody has one together. */
export class Quota {
  readonly #options: QuotaOptions;
  readonly #used = new BoundedMap<string, SentBytes>(maxOwners);

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Words for whoever would keep too much; undefined where it fits, and then it counts. */
  refusal(owner: string, bytes: number): string | undefined {
    const {
      limitBytes: most,
      strangersBytes = most,
      advice = 'delete something, or ask the operator for more',
      variable = 'QUOTA_MB',
      now = Date.now,
    } = this.#options;
    if (most === 0 || isOperator(owner)) return undefined;
    const limitBytes = owner.endsWith(':*') ? Math.min(strangersBytes, most) : most;
    const counted = this.#counted(owner, limitBytes - bytes, now());
    if (counted.bytes + bytes > limitBytes) {
      const [used, limit] = [counted.bytes, limitBytes].map((count) => (count / 2 ** 20).toFixed(1));
      return `${owner} keeps ${used} MB here and may keep ${limit} MB (${variable}): ${advice}`;
    }
    const before = counted.bytes;
    counted.bytes += bytes;
    const step = Math.ceil(limitBytes / 1000);
    if (before === 0 || Math.floor(before / step) < Math.floor(counted.bytes / step))
      this.#options.saved?.set(owner, counted);
    return undefined;
  }

  /** Counts again where much time has passed, or where it may have become less since. */
  #counted(owner: string, room: number, now: number): SentBytes {
    const { saved, recountMs = 60_000, recountFullMs = 1000 } = this.#options;
    const known = this.#used.get(owner) ?? saved?.get(owner);
    const usualMs = known !== undefined && known.bytes > room ? recountFullMs : recountMs;
    const staleAfterMs = Math.max(usualMs, (known?.tookMs ?? 0) / mostOfTime);
    // A clock that was put back must not make a count stand for ever.
    const isFresh = known !== undefined && Math.abs(now - known.countedAt) < staleAfterMs;
    const counted = isFresh ? known : this.#count(owner);
    this.#used.set(owner, counted);
    return counted;
  }

  #count(owner: string): SentBytes {
    const { usedBy, now = Date.now } = this.#options;
    const since = now();
    const bytes = usedBy(owner);
    const countedAt = now();
    return { bytes, countedAt, tookMs: Math.max(0, countedAt - since) };
  }
}

/** So much of the bound of one person that strangers of all surfaces cannot fill the journal in the days that it is kept. */
const STRANGERS_SHARE = 1 / 64;

export interface DailyLimits {
  /** QUOTA_MB; 0: no limit. */
  quotaMb: number;
  /** A lower limit, and the variable that sets it. */
  atMost?: { megabytes: number; variable: string };
}

/** What each owner may send in a day, by a table that `ttlTableMigration` made; it survives a restart. */
export function dailyQuota(limits: DailyLimits, table: TtlTable<SentBytes>, verb = 'send'): Quota {
  const { quotaMb, atMost } = limits;
  const isLower = atMost !== undefined && atMost.megabytes < quotaMb;
  const dayMs = 24 * 3_600_000;
  table.sweep();
  return new Quota({
    limitBytes: (isLower ? atMost.megabytes : quotaMb) * 2 ** 20,
    usedBy: () => 0,
    recountMs: dayMs,
    recountFullMs: dayMs,
    strangersBytes: quotaMb * 2 ** 20 * STRANGERS_SHARE,
    ...(isLower && { variable: atMost.variable }),
    advice: `${verb} less, wait a day, or ask the operator for more`,
    saved: { get: (owner) => table.get(owner), set: (owner, count) => table.set(owner, count, dayMs) },
  });
}

/** The first and the last owner that a key of a quota stands for: one, or all that begin as `person:mail:*`. */
export function ownersOf(key: string): readonly [string, string] {
  if (!key.endsWith(':*')) return [key, key];
  const prefix = key.slice(0, -1);
  return [prefix, `${prefix}\u{10ffff}`];
}

/** What a row takes beside its texts, with its places in the indexes: whoever stores very many empty ones fills the disk as well. */
const bytesOfRow = 200;

/** Bytes of the rows that count on a quota, by their text columns; `where` compares an owner, as `owner BETWEEN ?1 AND ?2`. */
export function storedBytes(
  database: Database,
  table: string,
  columns: readonly string[],
  where: string,
  owner: string,
): number {
  const sizes = columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
  const sql = `SELECT total(${sizes} + ${bytesOfRow}) AS bytes FROM ${table} WHERE ${where}`;
  return database.prepare<{ bytes: number }>(sql).get(...ownersOf(owner))?.bytes ?? 0;
}

function isOperator(owner: string): boolean {
  return owner === 'operator' || owner.startsWith('operator:');
}
