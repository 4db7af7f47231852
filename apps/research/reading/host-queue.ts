import { setTimeout as delay } from 'node:timers/promises';
import { ConcurrencyLimiter } from '@trunkline/std';

export interface HostQueueOptions {
  /** Requests to one host at once. */
  perHost: number;
  /** Milliseconds between the starts of two requests to one host. */
  pauseMs: number;
  /** Requests to all hosts together. */
  total: number;
  /** Waits that many milliseconds; the system's timer when not given. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

interface Host {
  limiter: ConcurrencyLimiter;
  /** By the clock that is never set. */
  nextStart: number;
}

const MOST_HOSTS = 2000;

/** Keeps the number and pace of requests to each host polite. */
export class HostQueue {
  readonly #options: HostQueueOptions;
  readonly #hosts = new Map<string, Host>();
  readonly #all: ConcurrencyLimiter;

  constructor(options: HostQueueOptions) {
    this.#options = options;
    this.#all = new ConcurrencyLimiter({ limit: options.total });
  }

  run<Value>(name: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    const host = this.#host(name);
    return host.limiter.run(
      async () => {
        await this.#pace(host, signal);
        return await this.#all.run(work, { signal });
      },
      { signal },
    );
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? {
      limiter: new ConcurrencyLimiter({ limit: this.#options.perHost }),
      nextStart: 0,
    };
    this.#hosts.set(name, host);
    if (this.#hosts.size > MOST_HOSTS) this.#forgetIdle(name);
    return host;
  }

  #forgetIdle(except: string): void {
    for (const [name, { limiter, nextStart }] of this.#hosts)
      if (name !== except && limiter.isIdle && performance.now() >= nextStart) this.#hosts.delete(name);
  }

  async #pace(host: Host, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const start = Math.max(now, host.nextStart);
    host.nextStart = start + this.#options.pauseMs;
    if (start > now) await (this.#options.wait ?? sleep)(start - now, signal);
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<unknown> {
  return delay(milliseconds, undefined, { signal });
}
