import { CircuitBreaker, ConcurrencyLimiter, type Slot, TimeoutError } from '@trunkline/std';
import type { Load } from '../api-types.ts';
import type { SkillExecutor, SkillResult } from './executor.ts';

export interface AgentLimits {
  running: number;
  /** Requests that wait in memory. Accepted ones beyond that wait in the journal; callers are refused. */
  waiting: number;
  /** Limit of the wait for delegated work. */
  delegationWaitMs: number;
}

interface RunOptions {
  /** The caller may hold a slot meanwhile: the wait is limited to `delegationWaitMs`. */
  isAwaited?: boolean;
  /** Not accepted yet: refused when too many wait. */
  isRefusable?: boolean;
}

/** A caller that waits for an answer is counted until `release`. */
export type Admission = { release: () => void } | { refusal: string };

/** Waiting callers of all agents together. */
const maxCallers = 256;

type Work = (slot: Slot) => Promise<SkillResult>;

interface AgentState {
  limiter: ConcurrencyLimiter;
  breaker: CircuitBreaker;
  /** Accepted work that has not ended: running, waiting or lending its slot. */
  accepted: number;
  callers: number;
}

/** Limits concurrency and backlog of each agent, and stops calling one that keeps failing. */
export class AgentLimiter {
  readonly #agents = new Map<string, AgentState>();
  readonly #limits: AgentLimits;
  readonly #now: () => number;
  #callers = 0;

  constructor(limits: AgentLimits, now: () => number = Date.now) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Runs the work when a slot is free; without one the result is `rejected`. */
  async run(
    agent: string,
    signal: AbortSignal,
    work: Work,
    { isAwaited = false, isRefusable = false }: RunOptions = {},
  ): Promise<SkillResult> {
    const state = this.#stateOf(agent);
    const { limiter, breaker } = state;
    const timeoutMs = isAwaited ? this.#limits.delegationWaitMs : undefined;
    const refusal = refusalOf(breaker) ?? (isRefusable ? this.#fullness(limiter) : undefined);
    if (refusal !== undefined) return rejected(agent, refusal);
    state.accepted += 1;
    try {
      signal.throwIfAborted();
      const slot = limiter.tryAcquire() ?? (await waitForSlot(limiter, signal, timeoutMs));
      if (slot === undefined) return rejected(agent, busyText(limiter, timeoutMs));
      return await runInSlot(agent, breaker, signal, slot, work);
    } finally {
      state.accepted -= 1;
    }
  }

  /** More work for this agent waits in the journal. */
  isCrowded(agent: string): boolean {
    return this.#isCrowded(this.#stateOf(agent));
  }

  /** Admits a caller that waits for an answer, or says why it must retry later. */
  admit(agent: string): Admission {
    const state = this.#stateOf(agent);
    const { running, waiting } = state.limiter;
    if (this.#isCrowded(state) || state.callers >= this.#limits.running + this.#limits.waiting)
      return {
        refusal: `${agent} has ${running} requests at work and ${waiting} waiting (SWITCHBOARD_EXECUTOR_CONCURRENCY); try again later`,
      };
    if (this.#callers >= maxCallers)
      return { refusal: `${maxCallers} callers wait for answers of agents already; try again later` };
    this.#countCaller(state, 1);
    let isIn = true;
    const release = () => {
      if (isIn) this.#countCaller(state, -1);
      isIn = false;
    };
    return { release };
  }

  /**
   * The executor for delegated work. The delegating agent lends its own slot meanwhile, so that two agents that wait
   * for each other do not deadlock. A remote agent holds its slot while it calls back, which cannot be seen here: hence
   * the time limit.
   */
  limited(executor: SkillExecutor): SkillExecutor {
    const { agent } = executor;
    return {
      ...executor,
      execute: (request, context) =>
        this.run(agent, context.signal, (slot) => executor.execute(request, { ...context, slot }), {
          isAwaited: true,
          isRefusable: true,
        }),
    };
  }

  load(agent: string): Load {
    const { limiter, breaker } = this.#agents.get(agent) ?? {};
    return {
      running: limiter?.running ?? 0,
      waiting: limiter?.waiting ?? 0,
      circuit: breaker?.state ?? 'closed',
    };
  }

  #isCrowded({ accepted }: AgentState): boolean {
    return accepted >= this.#limits.running + this.#limits.waiting;
  }

  #countCaller(state: AgentState, change: number): void {
    state.callers += change;
    this.#callers += change;
  }

  #stateOf(agent: string): AgentState {
    const known = this.#agents.get(agent);
    if (known !== undefined) return known;
    const state = {
      limiter: new ConcurrencyLimiter({ limit: this.#limits.running }),
      breaker: new CircuitBreaker({ now: this.#now }),
      accepted: 0,
      callers: 0,
    };
    this.#agents.set(agent, state);
    return state;
  }

  #fullness({ isFull, running, waiting }: ConcurrencyLimiter): string | undefined {
    if (!isFull || waiting < this.#limits.waiting) return undefined;
    return `has ${running} requests at work and ${waiting} waiting (SWITCHBOARD_EXECUTOR_CONCURRENCY); try again later`;
  }
}

/** Undefined when the time is up. */
async function waitForSlot(
  limiter: ConcurrencyLimiter,
  signal: AbortSignal,
  timeoutMs: number | undefined,
): Promise<Slot | undefined> {
  try {
    return await limiter.acquire({ signal, timeoutMs });
  } catch (error) {
    if (error instanceof TimeoutError) return undefined;
    throw error;
  }
}

async function runInSlot(
  agent: string,
  breaker: CircuitBreaker,
  signal: AbortSignal,
  slot: Slot,
  work: Work,
): Promise<SkillResult> {
  try {
    // It may have opened while the request waited.
    const refusal = refusalOf(breaker);
    if (refusal !== undefined) return rejected(agent, refusal);
    breaker.start();
    const result = await work(slot);
    if (signal.aborted) breaker.release();
    else if (result.unavailable === true) breaker.fail();
    else breaker.succeed();
    return result;
  } catch (error) {
    breaker.release();
    throw error;
  } finally {
    slot.release();
  }
}

function refusalOf({ state, failures, retryAfterMs }: CircuitBreaker): string | undefined {
  if (state !== 'open') return undefined;
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return `failed ${failures} times in a row and is left alone for ${seconds} s`;
}

function busyText({ running }: ConcurrencyLimiter, timeoutMs = 0): string {
  return `has ${running} requests at work (SWITCHBOARD_EXECUTOR_CONCURRENCY), and none ended within ${timeoutMs / 1000} s (SWITCHBOARD_DELEGATION_WAIT_MS); it may itself be waiting for this answer`;
}

function rejected(agent: string, why: string): SkillResult {
  return { content: '', error: `${agent} ${why}`, taskState: 'rejected' };
}
