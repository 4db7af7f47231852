import type { LiveTask } from './live-task.ts';

/** A finished task stays in memory no longer than this. */
const longestIdleMs = 60 * 60 * 1000;
/** And no more of them than this, as they can be read from disk at any time. */
const mostIdle = 200;

/** The tasks in memory: all that work, and the last few that do not. */
export class TaskMemory {
  readonly #working = new Map<string, LiveTask>();
  /** Oldest first. */
  readonly #idle = new Map<string, LiveTask>();

  get running(): number {
    return this.#working.size;
  }

  get size(): number {
    return this.#working.size + this.#idle.size;
  }

  get(id: string): LiveTask | undefined {
    return this.#working.get(id) ?? this.#idle.get(id);
  }

  /** Files the task under its present state. */
  keep(live: LiveTask, now: number): void {
    this.#idle.delete(live.id);
    live.touchedAt = now;
    if (live.state === 'working') {
      this.#working.set(live.id, live);
      return;
    }
    this.#working.delete(live.id);
    this.#idle.set(live.id, live);
    if (this.#idle.size > mostIdle) this.#dropOldest();
  }

  forget(id: string): void {
    this.#working.delete(id);
    this.#idle.delete(id);
  }

  /** Lets go of what nobody has needed for long. Working tasks stay, and so do those that someone follows. */
  evict(now: number): void {
    for (const live of this.#idle.values()) {
      if (live.touchedAt + longestIdleMs > now) break;
      if (!live.followed) this.#idle.delete(live.id);
    }
  }

  all(): LiveTask[] {
    return [...this.#working.values(), ...this.#idle.values()];
  }

  #dropOldest(): void {
    for (const live of this.#idle.values()) {
      if (live.followed) continue;
      this.#idle.delete(live.id);
      return;
    }
  }
}
