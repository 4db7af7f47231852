import { setTimeout as delay } from 'node:timers/promises';
import { Lane } from './lane.ts';

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
  lane: Lane;
  /** By the clock that is never set. */
  nextStart: number;
}

const MOST_HOSTS = 2000;

/** Keeps the number and pace of requests to each host polite. */
export class HostQueue {
  readonly #options: HostQueueOptions;
  readonly #hosts = new Map<string, Host>();
  readonly #all: Lane;

  constructor(options: HostQueueOptions) {
    this.#options = options;
    this.#all = new Lane(options.total);
  }

  run<Value>(name: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    const host = this.#host(name);
    return host.lane.run(signal, async () => {
      await this.#pace(host, signal);
      return await this.#all.run(signal, work);
    });
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? { lane: new Lane(this.#options.perHost), nextStart: 0 };
    this.#hosts.set(name, host);
    if (this.#hosts.size > MOST_HOSTS) this.#forgetIdle(name);
    return host;
  }

  #forgetIdle(except: string): void {
    for (const [name, { lane, nextStart }] of this.#hosts)
      if (name !== except && lane.idle && performance.now() >= nextStart) this.#hosts.delete(name);
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
