import { wordsOf } from '../../errors.ts';
import type { Notices } from '../notices.ts';
import type { Synthesizer } from './synthesizer.ts';

interface Outage {
  /** When it may be tried again. */
  until: number;
  pauseMs: number;
  isTried: boolean;
}

interface CircuitOptions {
  notices: Notices;
  now: () => number;
}

const firstPauseMs = 5000;
const longestPauseMs = 60_000;

/** Remembers which backends fail, and tries them in the background until they work again. */
export class Circuit {
  readonly #options: CircuitOptions;
  readonly #outages = new Map<Synthesizer, Outage>();
  readonly #closing = new AbortController();

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** A backend that failed counts as down until a trial, started here when its time has come, succeeds. */
  isUp(backend: Synthesizer): boolean {
    const outage = this.#outages.get(backend);
    if (outage === undefined) return true;
    if (!outage.isTried && this.#options.now() >= outage.until) void this.#try(backend, outage);
    return false;
  }

  failed(backend: Synthesizer, error: unknown, instead: string | undefined): void {
    const pauseMs = Math.min((this.#outages.get(backend)?.pauseMs ?? firstPauseMs / 2) * 2, longestPauseMs);
    this.#outages.set(backend, { until: this.#options.now() + pauseMs, pauseMs, isTried: false });
    const rest = instead === undefined ? 'nothing speaks instead' : `${instead} speaks instead`;
    const words = `${backend.backend} does not speak: ${wordsOf(error)} (${rest})`;
    this.#options.notices.tell(keyOf(backend), words, { error });
  }

  works(backend: Synthesizer): void {
    this.#outages.delete(backend);
    this.#options.notices.clear(keyOf(backend), `${backend.backend} speaks again`);
  }

  close(): void {
    this.#closing.abort();
  }

  async #try(backend: Synthesizer, outage: Outage): Promise<void> {
    outage.isTried = true;
    try {
      for await (const _frame of backend.speak({ text: 'Hello.', signal: this.#closing.signal })) {
        return this.works(backend);
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
