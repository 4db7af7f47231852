import { Breaker, type CircuitState } from './breaker.ts';
import type { SkillExecutor, SkillResult } from './executor.ts';

export interface LaneLimits {
  /** Skills that one executor runs at once. */
  running: number;
  /** Requests that wait for it; more are refused. */
  waiting: number;
}

export interface Load {
  running: number;
  waiting: number;
  circuit: CircuitState;
}

interface Lane {
  running: number;
  queue: Set<() => void>;
  breaker: Breaker;
}

/** A lane for each executor: so many at once, so many waiting, and none while it keeps failing. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #limits: LaneLimits;
  readonly #now: () => number;

  constructor(limits: LaneLimits, now: () => number = Date.now) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Runs the work in its turn; a request that finds no place is answered with words. */
  async run(agent: string, signal: AbortSignal, work: () => Promise<SkillResult>): Promise<SkillResult> {
    const lane = this.#laneOf(agent);
    const refusal = lane.breaker.refusal() ?? this.#fullness(lane);
    if (refusal !== undefined) return refused(agent, refusal);
    await this.#enter(lane, signal);
    try {
      const late = lane.breaker.refusal();
      if (late !== undefined) return refused(agent, late);
      return await watched(lane.breaker, signal, work);
    } finally {
      this.#leave(lane);
    }
  }

  /**
   * The executor for work that another skill waits for: left alone while it keeps failing, and counted, but never made
   * to wait for a place, as two that wait for each other would not end.
   */
  visited(executor: SkillExecutor): SkillExecutor {
    const { agent } = executor;
    return {
      ...executor,
      execute: (request, context) =>
        this.#visit(agent, context.signal, () => executor.execute(request, context)),
    };
  }

  load(agent: string): Load {
    const lane = this.#lanes.get(agent);
    const { running = 0, queue, breaker } = lane ?? {};
    return { running, waiting: queue?.size ?? 0, circuit: breaker?.state ?? 'closed' };
  }

  async #visit(agent: string, signal: AbortSignal, work: () => Promise<SkillResult>): Promise<SkillResult> {
    const lane = this.#laneOf(agent);
    const refusal = lane.breaker.refusal();
    if (refusal !== undefined) return refused(agent, refusal);
    lane.running++;
    try {
      return await watched(lane.breaker, signal, work);
    } finally {
      this.#leave(lane);
    }
  }

  #laneOf(agent: string): Lane {
    const known = this.#lanes.get(agent);
    if (known !== undefined) return known;
    const lane = { running: 0, queue: new Set<() => void>(), breaker: new Breaker(this.#now) };
    this.#lanes.set(agent, lane);
    return lane;
  }

  #fullness({ running, queue }: Lane): string | undefined {
    const { running: most, waiting } = this.#limits;
    if (running < most || queue.size < waiting) return undefined;
    return `has ${running} requests at work and ${queue.size} waiting (SWITCHBOARD_EXECUTOR_CONCURRENCY); try again later`;
  }

  async #enter(lane: Lane, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (lane.running < this.#limits.running) {
      lane.running++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        lane.queue.delete(enter);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      lane.queue.add(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** The place goes straight to the one who waits longest, unless visitors have taken more than there are. */
  #leave(lane: Lane): void {
    const [next] = lane.queue;
    if (next === undefined || lane.running > this.#limits.running) {
      lane.running--;
      return;
    }
    lane.queue.delete(next);
    next();
  }
}

async function watched(
  breaker: Breaker,
  signal: AbortSignal,
  work: () => Promise<SkillResult>,
): Promise<SkillResult> {
  breaker.begin();
  try {
    const result = await work();
    if (signal.aborted) breaker.forget();
    else breaker.end(result.unavailable === true);
    return result;
  } catch (error) {
    breaker.forget();
    throw error;
  }
}

function refused(agent: string, words: string): SkillResult {
  return { content: '', error: `${agent} ${words}`, taskState: 'rejected' };
}
