import type { Breaker, CircuitState } from './breaker.ts';
import type { Place, SkillExecutor, SkillResult } from './executor.ts';
import { Lane } from './lane.ts';
import { LanePlace } from './place.ts';

export interface LaneLimits {
  /** Skills that one executor runs at once. */
  running: number;
  /** Requests that wait for it in memory; what is accepted beyond that waits in the journal, callers are refused. */
  waiting: number;
  /** How long work that another agent waits for may wait itself. */
  delegationWaitMs: number;
}

/** How work is taken on. */
interface RunOptions {
  /** Somebody waits for the answer, and may hold a place here meanwhile: it waits for `delegationWaitMs` at most. */
  isAwaited?: boolean;
  /** It was not accepted yet, and is refused when too many wait. */
  isRefusable?: boolean;
}

/** A caller's place among those that wait for an answer; given back when it has one or leaves. */
export type Admission = { release: () => void } | { refusal: string };

/** Callers that wait for answers of all agents together. */
const mostCallers = 256;

export interface Load {
  running: number;
  waiting: number;
  circuit: CircuitState;
}

type Work = (place: Place) => Promise<SkillResult>;

/** A lane for each executor: so many at once, so many waiting, and none while it keeps failing. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #limits: LaneLimits;
  readonly #now: () => number;
  #callers = 0;

  constructor(limits: LaneLimits, now: () => number = Date.now) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Runs the work in its turn; a request that finds no place is answered with words. */
  async run(
    agent: string,
    signal: AbortSignal,
    work: Work,
    { isAwaited = false, isRefusable = false }: RunOptions = {},
  ): Promise<SkillResult> {
    const lane = this.#laneOf(agent);
    const waitMs = isAwaited ? this.#limits.delegationWaitMs : undefined;
    const refusal = lane.breaker.refusal() ?? (isRefusable ? this.#fullness(lane) : undefined);
    if (refusal !== undefined) return refused(agent, refusal);
    lane.occupancy += 1;
    try {
      if (!(await lane.enter(signal, { waitMs }))) return refused(agent, busyWords(lane, waitMs));
      return await this.#inside(agent, lane, signal, work);
    } finally {
      lane.occupancy -= 1;
    }
  }

  /** So much of its work is taken on that more waits in the journal. */
  isCrowded(agent: string): boolean {
    return this.#isCrowded(this.#laneOf(agent));
  }

  /** Lets a caller in that waits for an answer, or says why it must come again later. */
  admit(agent: string): Admission {
    const lane = this.#laneOf(agent);
    const isFull = this.#isCrowded(lane) || lane.callers >= this.#limits.running + this.#limits.waiting;
    if (isFull)
      return {
        refusal: `${agent} has ${lane.running} requests at work and ${lane.waiting} waiting (SWITCHBOARD_EXECUTOR_CONCURRENCY); try again later`,
      };
    if (this.#callers >= mostCallers)
      return { refusal: `${mostCallers} callers wait for answers of agents already; try again later` };
    this.#countCaller(lane, 1);
    let isIn = true;
    const release = () => {
      if (isIn) this.#countCaller(lane, -1);
      isIn = false;
    };
    return { release };
  }

  /**
   * The executor for work that another agent waits for. It takes its turn like all other work; whoever waits for it lends
   * its own place meanwhile, so that two who wait for each other hold nothing that the other needs. An agent of another
   * service holds its place while it asks here again, which nobody can see: hence the limit to the wait.
   */
  visited(executor: SkillExecutor): SkillExecutor {
    const { agent } = executor;
    return {
      ...executor,
      execute: (request, context) =>
        this.run(agent, context.signal, (place) => executor.execute(request, { ...context, place }), {
          isAwaited: true,
          isRefusable: true,
        }),
    };
  }

  load(agent: string): Load {
    const { running = 0, waiting = 0, breaker } = this.#lanes.get(agent) ?? {};
    return { running, waiting, circuit: breaker?.state ?? 'closed' };
  }

  async #inside(agent: string, lane: Lane, signal: AbortSignal, work: Work): Promise<SkillResult> {
    const place = new LanePlace(lane);
    try {
      const late = lane.breaker.refusal();
      if (late !== undefined) return refused(agent, late);
      return await watched(lane.breaker, signal, () => work(place));
    } finally {
      place.leave();
    }
  }

  #isCrowded({ occupancy }: Lane): boolean {
    return occupancy >= this.#limits.running + this.#limits.waiting;
  }

  #countCaller(lane: Lane, change: number): void {
    lane.callers += change;
    this.#callers += change;
  }

  #laneOf(agent: string): Lane {
    const known = this.#lanes.get(agent);
    if (known !== undefined) return known;
    const lane = new Lane(this.#limits.running, this.#now);
    this.#lanes.set(agent, lane);
    return lane;
  }

  #fullness({ isFull, running, waiting }: Lane): string | undefined {
    if (!isFull || waiting < this.#limits.waiting) return undefined;
    return `has ${running} requests at work and ${waiting} waiting (SWITCHBOARD_EXECUTOR_CONCURRENCY); try again later`;
  }
}

function busyWords({ running }: Lane, waitMs = 0): string {
  return `has ${running} requests at work (SWITCHBOARD_EXECUTOR_CONCURRENCY), and none ended within ${waitMs / 1000} s (SWITCHBOARD_DELEGATION_WAIT_MS); it may itself be waiting for this answer`;
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
