import { BoundedMap } from '@trunkline/std';

export interface QuotaOptions {
  /** Bytes that each owner may keep; 0: no limit. */
  limitBytes: number;
  /** What an owner keeps now, counted in the store. */
  usedBy: (owner: string) => number;
  /** Milliseconds that a count stands, with what comes in meanwhile added to it; default a minute. */
  recountMs?: number;
  /** The same for somebody who keeps too much, and may have deleted something; default a second. */
  recountFullMs?: number;
  /** What whoever is refused can do. */
  advice?: string;
  /** Milliseconds; for tests. */
  now?: () => number;
}

const maxOwners = 10_000;

/** Bounds what each owner keeps in a store. The operator has no limit; what belongs to nobody has one together. */
export class Quota {
  readonly #options: QuotaOptions;
  readonly #used = new BoundedMap<string, { bytes: number; countedAt: number }>(maxOwners);

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Words for whoever would keep too much; undefined where it fits, and then it counts. */
  refusal(owner: string, bytes: number): string | undefined {
    const {
      limitBytes,
      advice = 'delete something, or ask the operator for more',
      now = Date.now,
    } = this.#options;
    if (limitBytes === 0 || isOperator(owner)) return undefined;
    const counted = this.#counted(owner, limitBytes - bytes, now());
    if (counted.bytes + bytes > limitBytes) {
      const [used, limit] = [counted.bytes, limitBytes].map((count) => (count / 2 ** 20).toFixed(1));
      return `${owner} keeps ${used} MB here and may keep ${limit} MB (QUOTA_MB): ${advice}`;
    }
    counted.bytes += bytes;
    return undefined;
  }

  /** Counts again where much time has passed, or where it may have become less since. */
  #counted(owner: string, room: number, now: number): { bytes: number; countedAt: number } {
    const { usedBy, recountMs = 60_000, recountFullMs = 1000 } = this.#options;
    const known = this.#used.get(owner);
    const staleAfterMs = known !== undefined && known.bytes > room ? recountFullMs : recountMs;
    // A clock that was put back must not make a count stand for ever.
    if (known !== undefined && Math.abs(now - known.countedAt) < staleAfterMs) return known;
    const counted = { bytes: usedBy(owner), countedAt: now };
    this.#used.set(owner, counted);
    return counted;
  }
}

function isOperator(owner: string): boolean {
  return owner === 'operator' || owner.startsWith('operator:');
}
