import { CircuitBreaker, errorMessage, TimeoutError, withTimeout } from '@trunkline/std';
import { SpeechError } from '../speech-error.ts';
import type { SpeechWarnings } from '../warnings.ts';
import { BehindError, type SpeechRequest, type Synthesizer } from './synthesizer.ts';

/** Reading speed of voices; rather low, as a repeated word is better than a missing one. */
const charactersPerSecond = 13;

/** A clause that began within this many characters is repeated whole. */
const farthestBack = 40;

/** No voice takes longer for a text, pauses included; what gives sound without an end is left. */
const longestSeconds = (text: string) => 30 + text.length / 2;

export interface FallbackOptions {
  backend: string;
  /** All backends that may speak a request, the preferred one first. */
  order(request: SpeechRequest): readonly Synthesizer[];
  /** How long a caller waits for the next sound, if another backend could speak. */
  timeoutMs(backend: Synthesizer): number | undefined;
  /** Speaks over the network, perhaps for money. */
  isRemote?(backend: Synthesizer): boolean;
  warnings: SpeechWarnings;
  now?: () => number;
  close(): Promise<void>;
}

interface Progress {
  rest: string;
}

/** Speaks with the first backend that works. If it fails in the middle, the next speaks the rest. */
export function createFallbackSynthesizer(
  options: FallbackOptions,
): Synthesizer & Required<Pick<Synthesizer, 'close'>> {
  const health = new BackendHealth(options.warnings, options.now ?? (() => performance.now()));
  const closing = new AbortController();
  return {
    backend: options.backend,
    speak(request) {
      const signals = [closing.signal, ...(request.signal === undefined ? [] : [request.signal])];
      return speakByFirst({ ...request, signal: AbortSignal.any(signals) }, options, health);
    },
    async close() {
      closing.abort(new SpeechError('closed', 'the voices are closed'));
      health.close();
      await options.close();
    },
  };
}

async function* speakByFirst(request: SpeechRequest, options: FallbackOptions, health: BackendHealth) {
  if (!/[\p{L}\p{N}]/u.test(request.text)) return;
  const order = options.order(request);
  const backends = usable(order, request, health);
  const progress: Progress = { rest: request.text };
  const usual = usualOf(order, request);
  if (request.background) {
    if (usual === undefined || usual !== backends[0] || options.isRemote?.(usual)) return;
    // A failure says nothing: such work is dropped for that of callers.
    return yield* speakBy(usual, request, progress, undefined);
  }
  const failures: unknown[] = [];
  for (const [index, backend] of backends.entries()) {
    const next = backends[index + 1];
    const timeoutMs = next === undefined ? undefined : options.timeoutMs(backend);
    try {
      if (backend !== usual) request.onStandIn?.();
      const mayHandOver = next !== undefined && rankOf(next, request) === 0;
      yield* speakBy(backend, { ...request, mayHandOver }, progress, timeoutMs);
      return health.succeeded(backend);
    } catch (error) {
      request.signal?.throwIfAborted();
      failures.push(error);
      reportFailure(backend, error, next, options, health);
      if (progress.rest === '') return;
    }
  }
  throw failures[0];
}

const harmless: readonly SpeechError['code'][] = ['unsupported', 'busy', 'behind'];

/** A text that a backend cannot read, or has no time for, says nothing about its health. */
function reportFailure(
  backend: Synthesizer,
  error: unknown,
  next: Synthesizer | undefined,
  { warnings }: FallbackOptions,
  health: BackendHealth,
): void {
  if (error instanceof SpeechError && harmless.includes(error.code))
    warnings.report(error.message, error.message);
  else health.failed(backend, error, next?.backend);
}

/** If all are down, all are tried. One that cannot keep up comes after the others, one without the language last. */
function usable(
  backends: readonly Synthesizer[],
  request: SpeechRequest,
  health: BackendHealth,
): readonly Synthesizer[] {
  const up = backends.filter((backend) => health.isUp(backend));
  const tried = up.length === 0 ? backends : up;
  const ranks = new Map(tried.map((each) => [each, rankOf(each, request)]));
  return tried.toSorted((left, right) => (ranks.get(left) ?? 0) - (ranks.get(right) ?? 0));
}

/** The backend that speaks such requests while all of them work. */
function usualOf(order: readonly Synthesizer[], request: SpeechRequest): Synthesizer | undefined {
  return order.find((backend) => backend.speaks?.(request) !== false) ?? order[0];
}

function rankOf(backend: Synthesizer, request: SpeechRequest): number {
  if (backend.speaks?.(request) === false) return 2;
  return backend.isBehind?.() ? 1 : 0;
}

async function* speakBy(
  backend: Synthesizer,
  request: SpeechRequest,
  progress: Progress,
  timeoutMs: number | undefined,
) {
  const leaving = new AbortController();
  const signal =
    request.signal === undefined ? leaving.signal : AbortSignal.any([request.signal, leaving.signal]);
  const frames = backend.speak({ ...request, text: progress.rest, signal });
  const mostSeconds = longestSeconds(progress.rest);
  let seconds = 0;
  try {
    for await (const frame of eachInTime(frames, timeoutMs)) {
      seconds += frame.samples.length / frame.sampleRate;
      if (seconds > mostSeconds) throw new SpeechError('unreadable', 'it gave sound without an end');
      yield frame;
    }
    if (seconds === 0) throw new SpeechError('unreadable', 'it gave no sound');
  } catch (error) {
    progress.rest = error instanceof BehindError ? error.rest : restOfText(progress.rest, seconds);
    throw error;
  } finally {
    leaving.abort();
  }
}

/** Throws if a value takes longer than `timeoutMs`, and abandons the source. */
async function* eachInTime<Value>(values: AsyncIterable<Value>, timeoutMs: number | undefined) {
  const iterator = values[Symbol.asyncIterator]();
  let isOver = false;
  const next = async () => {
    try {
      if (timeoutMs === undefined) return await iterator.next();
      return await withTimeout({ timeoutMs }, () => iterator.next());
    } catch (error) {
      isOver = true;
      if (!(error instanceof TimeoutError)) throw error;
      throw new SpeechError('timeout', `it gave no sound for ${(timeoutMs ?? 0) / 1000} s`, { cause: error });
    }
  };
  try {
    for (let step = await next(); !step.done; step = await next()) yield step.value;
    isOver = true;
  } finally {
    if (!isOver) await iterator.return?.();
  }
}

const cooldowns = { failureThreshold: 1, cooldownMs: 5000, maxCooldownMs: 60_000 };

/** Tracks which backends fail, and tries those in the background until they work again. */
class BackendHealth {
  readonly #warnings: SpeechWarnings;
  readonly #now: () => number;
  readonly #breakers = new Map<Synthesizer, CircuitBreaker>();
  readonly #closing = new AbortController();

  constructor(warnings: SpeechWarnings, now: () => number) {
    this.#warnings = warnings;
    this.#now = now;
  }

  /** Starts a trial of a backend whose cooldown has passed; it counts as down until the trial succeeds. */
  isUp(backend: Synthesizer): boolean {
    const breaker = this.#breakers.get(backend);
    if (breaker === undefined || breaker.state === 'closed') return true;
    if (breaker.state === 'half-open') void this.#try(backend, breaker);
    return false;
  }

  failed(backend: Synthesizer, error: unknown, instead: string | undefined): void {
    const breaker = this.#breakers.get(backend) ?? new CircuitBreaker({ ...cooldowns, now: this.#now });
    this.#breakers.set(backend, breaker);
    breaker.fail();
    const rest = instead === undefined ? 'nothing speaks instead' : `${instead} speaks instead`;
    const message = `${backend.backend} does not speak: ${errorMessage(error)} (${rest})`;
    this.#warnings.report(keyOf(backend), message, { error });
  }

  succeeded(backend: Synthesizer): void {
    this.#breakers.get(backend)?.succeed();
    this.#warnings.resolve(keyOf(backend), `${backend.backend} speaks again`);
  }

  close(): void {
    this.#closing.abort();
  }

  async #try(backend: Synthesizer, breaker: CircuitBreaker): Promise<void> {
    breaker.start();
    try {
      for await (const _frame of backend.speak({ text: 'Hello.', signal: this.#closing.signal })) {
        return this.succeeded(backend);
      }
      throw new Error('it gave no sound');
    } catch (error) {
      if (!this.#closing.signal.aborted) this.failed(backend, error, 'another backend');
    }
  }
}

function keyOf({ backend }: Synthesizer): string {
  return `speech by ${backend}`;
}

/** The rest of a text of which so many seconds were heard, from the start of a clause or else of a word. */
export function restOfText(text: string, spokenSeconds: number): string {
  if (spokenSeconds === 0) return text;
  const reached = Math.floor(spokenSeconds * charactersPerSecond);
  if (reached >= text.length) return '';
  const before = text.slice(0, reached);
  const clause = Math.max(...[...before.matchAll(/[,.;:!?]\s+/g)].map(endOf), 0);
  const word = Math.max(...[...before.matchAll(/\s+/g)].map(endOf), 0);
  return text.slice(reached - clause <= farthestBack ? clause : word);
}

function endOf(match: RegExpExecArray): number {
  return match.index + match[0].length;
}
