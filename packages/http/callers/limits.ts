import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { ownerKey } from '@trunkline/identity';
import { BoundedMap, formatDuration } from '@trunkline/std';
import type { RequestContext } from '../app/context.ts';
import { httpErrors } from '../errors/http-error.ts';
import { addBlock, contains, embeddedIpv4, networkOf } from '../fetch/special-addresses.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { shownKeys, showsKey } from './credentials.ts';

export interface LimitOptions {
  /** Requests that a principal, or an address nobody is known at, may make in a minute; 0: any number. */
  requestLimit?: number;
  /** Addresses and ranges whose `X-Forwarded-For` says where a request came from. */
  trustedProxies?: readonly string[];
  /** False where Trunkline made every key: wrong ones are then not counted, and nobody is locked out. */
  isGuessable?: boolean;
  /** Milliseconds of a clock that nobody can set: one that is put back would lock everybody out. */
  now?: () => number;
}

/** Different wrong keys of one address, and of all addresses together, before keys are no longer looked at. */
const MAX_WRONG_KEYS = 10;
const MAX_WRONG_KEYS_OF_ALL = 100;
const MINUTE_MS = 60_000;
/** Each pause of an address is twice as long as the one before, up to this. */
const MAX_PAUSE_MS = 15 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const MAX_ENTRIES = 10_000;

/** Health is for load balancers; files of pages come from memory, and a page loads many at once. */
const UNLIMITED = /^\/(?:healthz$|(?:app\/|share\/|trust\/)?(?:assets|static)\/)/;

interface Guesses {
  wrong: Set<string>;
  since: number;
  pauses: number;
  pausedUntil: number;
}

/**
 * Bounds how many keys can be guessed and how much one caller may ask, for all routes of a service.
 *
 * A key that a person chose can be guessed: after some wrong ones, keys from that address are not looked at for a while,
 * right ones included, or guessing would go on. What Trunkline made itself (the operator's key, keys and sessions of
 * accounts, tokens between services) cannot be guessed and always counts, so nobody can lock the operator out. The same
 * wrong key counts once a minute: a program with an old key does not lock out its neighbours.
 */
export class CallerLimits {
  readonly #options: LimitOptions;
  readonly #requestLimit: number;
  readonly #metrics: Metrics | undefined;
  readonly #proxies = new BlockList();
  readonly #guesses = new BoundedMap<string, Guesses>(MAX_ENTRIES);
  /** When a known caller last came from an address: a flood of guesses from elsewhere does not concern it. */
  readonly #knownAt = new BoundedMap<string, number>(MAX_ENTRIES);
  /** The networks of addresses that asked without a proxy. */
  readonly #direct = new BoundedMap<string, string>(MAX_ENTRIES);
  readonly #buckets = new BoundedMap<string, { tokens: number; at: number }>(MAX_ENTRIES);
  readonly #all = { wrong: 0, since: 0 };

  constructor(options: LimitOptions = {}, metrics?: Metrics) {
    this.#options = options;
    this.#requestLimit = options.requestLimit ?? 0;
    this.#metrics = metrics;
    for (const proxy of options.trustedProxies ?? [])
      if (!addBlock(this.#proxies, proxy)) throw new TypeError(`${proxy} is no address and no range`);
  }

  /** Throws for a caller who asks too much, and for keys from an address that guesses. Call it once the principal is known. */
  check(context: RequestContext): void {
    const principal = context.get('principal');
    // The operator sets the limit.
    const isLimited =
      this.#requestLimit > 0 && principal.kind !== 'operator' && !UNLIMITED.test(context.req.path);
    if (isLimited)
      this.#takeToken(principal.kind === 'anonymous' ? this.#addressOf(context) : ownerKey(principal));
    if (principal.kind === 'anonymous' && showsKey(context.req)) this.refusePaused(context);
  }

  /** Learns from the answer whether a key in the headers was wrong. Those of known callers count where they are looked up. */
  settle(context: RequestContext, status: number): void {
    if (context.get('principal').kind !== 'anonymous') {
      if (status !== 401) this.#knownAt.set(this.#addressOf(context), this.#now());
    } else if (status === 401 || status === 403)
      for (const key of shownKeys(context.req)) this.countWrong(context, key);
  }

  /** For keys that stand elsewhere than in a header: counts a wrong one, or throws where keys are not looked at. */
  refuseWrong(context: RequestContext, key: string): void {
    this.refusePaused(context);
    this.countWrong(context, key);
  }

  countWrong(context: RequestContext, key: string): void {
    if (this.#options.isGuessable === false) return;
    const address = this.#addressOf(context);
    const now = this.#now();
    const fresh: Guesses = { wrong: new Set(), since: now, pauses: 0, pausedUntil: 0 };
    const guesses = this.#guesses.get(address) ?? fresh;
    // Nobody looked at it.
    if (now < guesses.pausedUntil) return;
    if (now - guesses.since >= MINUTE_MS) {
      if (now - guesses.pausedUntil >= HOUR_MS) guesses.pauses = 0;
      Object.assign(guesses, { wrong: new Set(), since: now });
    }
    const hash = createHash('sha256').update(key).digest('base64url').slice(0, 16);
    if (guesses.wrong.has(hash)) return;
    guesses.wrong.add(hash);
    this.#guesses.set(address, guesses);
    this.#metrics?.http.wrongKeys.inc();
    if (now - this.#all.since >= MINUTE_MS) Object.assign(this.#all, { wrong: 0, since: now });
    this.#all.wrong += 1;
    if (guesses.wrong.size < MAX_WRONG_KEYS) return;
    guesses.pausedUntil = now + Math.min(MINUTE_MS * 2 ** guesses.pauses, MAX_PAUSE_MS);
    guesses.pauses += 1;
  }

  /** Throws while keys from this address are not looked at. */
  refusePaused(context: RequestContext): void {
    const address = this.#addressOf(context);
    const now = this.#now();
    const isKnown = now - (this.#knownAt.get(address) ?? Number.NEGATIVE_INFINITY) < 24 * HOUR_MS;
    const isFlooded = !isKnown && this.#all.wrong >= MAX_WRONG_KEYS_OF_ALL;
    const until = Math.max(
      this.#guesses.get(address)?.pausedUntil ?? 0,
      isFlooded ? this.#all.since + MINUTE_MS : 0,
    );
    if (until <= now) return;
    this.#metrics?.http.limited.inc({ reason: 'keys' });
    throw httpErrors.key_attempts({ wait: formatDuration(until - now) }, retryAfter(until - now));
  }

  #takeToken(caller: string): void {
    const limit = this.#requestLimit;
    const now = this.#now();
    const { tokens, at } = this.#buckets.get(caller) ?? { tokens: limit, at: now };
    const filled = Math.min(limit, tokens + ((now - at) * limit) / MINUTE_MS);
    const isEmpty = filled < 1;
    this.#buckets.set(caller, { tokens: isEmpty ? filled : filled - 1, at: now });
    if (!isEmpty) return;
    this.#metrics?.http.limited.inc({ reason: 'requests' });
    throw httpErrors.request_limit({ limit }, retryAfter(((1 - filled) * MINUTE_MS) / limit));
  }

  /** The client, or the last address before the proxies that the operator trusts; of IPv6 the network, as one has billions. */
  #addressOf({ env, req }: RequestContext): string {
    const peer = env?.incoming?.socket?.remoteAddress ?? '';
    const header = req.header('x-forwarded-for');
    if (header !== undefined) return this.#networkOf(peer, header.split(','));
    const known = this.#direct.get(peer);
    if (known !== undefined) return known;
    const network = this.#networkOf(peer, []);
    this.#direct.set(peer, network);
    return network;
  }

  #networkOf(peer: string, forwarded: string[]): string {
    let address = plainAddress(peer);
    while (forwarded.length > 0 && isIP(address) !== 0 && contains(this.#proxies, address)) {
      const before = plainAddress(forwarded.pop() ?? '');
      if (isIP(before) === 0) break;
      address = before;
    }
    return networkOf(address);
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }
}

/**
 * Looks up keys that a person may have chosen, whoever the caller is already: a guest could guess them, too. Wrong ones
 * count at once, as requests in one chunk do not wait for each other's answers.
 */
export function tryKeys<Found>(
  context: RequestContext,
  keys: readonly string[],
  find: () => Found | undefined,
): Found | undefined {
  // The key of an account is no guess.
  const guesses = keys.filter((key) => context.get('kit')?.accounts?.principalFor({ key }) === undefined);
  if (guesses.length === 0) return undefined;
  const limits = context.get('kit')?.keyLimits;
  limits?.refusePaused(context);
  const found = find();
  if (found === undefined) for (const key of guesses) limits?.countWrong(context, key);
  return found;
}

/** Without port, brackets and zone; IPv4 in its own form. */
function plainAddress(text: string): string {
  const address = text
    .trim()
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '');
  return embeddedIpv4(address) ?? address;
}

function retryAfter(ms: number) {
  return { headers: { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) } };
}
