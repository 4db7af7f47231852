import { type ExecutorRegistry, isPending, type Resolution } from './registry.ts';

export interface ExecutorWait {
  /** When to give up, in milliseconds since 1970. */
  deadline: number;
  /** Ends the wait with its reason: the switchboard stops. */
  stopping: AbortSignal;
}

/** The longest delay that a timer takes. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Waits while the executor of a skill is known from before the restart only. Gives it when it has answered, why there is
 * none when it came back without the skill or is no longer configured, and undefined when the time is over.
 */
export async function waitForExecutor(
  registry: ExecutorRegistry,
  resolve: () => Resolution,
  skill: string,
  { deadline, stopping }: ExecutorWait,
): Promise<Resolution | undefined> {
  for (;;) {
    stopping.throwIfAborted();
    const found = resolve();
    if ('reason' in found || !isPending(found.executor, skill)) return found;
    const left = deadline - Date.now();
    if (left <= 0) return undefined;
    await nextChange(registry, Math.min(left, longestTimerMs), stopping);
  }
}

/** Who does work from an agent's queue: that agent, or another where it no longer has the skill. */
export function resolveQueued(
  registry: ExecutorRegistry,
  queue: string,
  { skill, agent }: { skill: string; agent?: string },
): Resolution {
  const own = registry.resolve(skill, queue);
  return 'executor' in own ? own : registry.resolve(skill, agent);
}

function nextChange(registry: ExecutorRegistry, timeoutMs: number, stopping: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      forget();
      stopping.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, timeoutMs).unref();
    const forget = registry.onChange(end);
    stopping.addEventListener('abort', end, { once: true });
  });
}
