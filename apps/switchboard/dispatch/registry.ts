import { Store } from '../core/store.ts';
import type { OfferedSkill, SkillExecutor } from './executor.ts';

const migrations = [
  `CREATE TABLE skills (
     owner TEXT NOT NULL, agent TEXT NOT NULL, skills TEXT NOT NULL, seenAt INTEGER NOT NULL,
     PRIMARY KEY (owner, agent)) STRICT, WITHOUT ROWID;
   CREATE TABLE queues (agent TEXT PRIMARY KEY, usedAt INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
];

const day = 24 * 60 * 60 * 1000;

const keptMs = 30 * day;

/** The longest delay of a timer. */
const longestTimerMs = 2 ** 31 - 1;

export type DropReason = 'no_skill' | 'target_unresolved' | 'cooldown' | 'unpaired';

export type Resolution = { executor: SkillExecutor } | { reason: DropReason; why: string };

/** Executors, grouped by the component that registered them. */
export class ExecutorRegistry {
  readonly #byOwner = new Map<string, readonly SkillExecutor[]>();
  readonly #listeners = new Set<() => void>();
  #all: readonly SkillExecutor[] = [];

  replace(owner: string, executors: readonly SkillExecutor[]): void {
    this.#byOwner.set(owner, executors);
    this.#all = [...this.#byOwner.values()].flat();
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls back after every change; returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  list(): readonly SkillExecutor[] {
    return this.#all;
  }

  agent(name: string): SkillExecutor | undefined {
    return this.list().find(({ agent }) => agent === name);
  }

  skills(): { agent: string; skill: OfferedSkill }[] {
    return this.list().flatMap(({ agent, skills }) => skills.map((skill) => ({ agent, skill })));
  }

  /** A named target must have the skill. Confirmed executors win over pending ones. */
  resolve(skill: string, agent: string | undefined): Resolution {
    const able = this.list().filter(
      (executor) =>
        (agent === undefined || executor.agent === agent) &&
        executor.skills.some(({ name }) => name === skill),
    );
    const executor = able.find((candidate) => !isPending(candidate, skill)) ?? able[0];
    if (executor !== undefined) return { executor };
    if (agent === undefined) return { reason: 'no_skill', why: `no agent has the skill ${skill}` };
    const known = this.agent(agent) !== undefined;
    const why = known ? `the agent ${agent} has no skill ${skill}` : `there is no agent ${agent}`;
    return { reason: 'target_unresolved', why };
  }
}

/** Whether the executor has not answered since the start. */
export function isPending({ skills }: SkillExecutor, skill: string): boolean {
  return skills.some(({ name, pending }) => name === skill && pending === true);
}

export function confirmed(skills: readonly OfferedSkill[]): OfferedSkill[] {
  return skills.filter(({ pending }) => pending !== true);
}

interface ExecutorWait {
  /** In milliseconds since 1970. */
  deadline: number;
  /** Aborts the wait with its reason. */
  stopping: AbortSignal;
}

/**
 * Waits while the executor of a skill is pending. Resolves to the executor, to why there is none (it came back without
 * the skill, or is no longer configured), or to undefined at the deadline.
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

/** The agent of the queue, or another if it lost the skill. */
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

/** Skills come from A2A cards or MCP servers. */
type SkillOwner = 'a2a' | 'mcp';

/**
 * The last known skills of A2A agents and MCP servers, and the agents that have a queue. After a restart it tells work
 * for a pending skill from work that nobody can do.
 */
export class SkillStore extends Store {
  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
    this.#sweep();
  }

  /** In the form in which its owner stored it. */
  recall<Skill>(owner: SkillOwner, agent: string): readonly Skill[] {
    const row = this.one<{ skills: string }>('SELECT skills FROM skills WHERE owner = ? AND agent = ?', [
      owner,
      agent,
    ]);
    return row === undefined ? [] : (JSON.parse(row.skills) as Skill[]);
  }

  keep(owner: SkillOwner, agent: string, skills: readonly object[]): void {
    this.write(
      `INSERT INTO skills VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET skills = ?3, seenAt = ?4 WHERE skills <> ?3 OR seenAt < ?4 - ${day}`,
      [owner, agent, JSON.stringify(skills), this.now()],
    );
  }

  keepQueue(agent: string): void {
    this.write(
      `INSERT INTO queues VALUES (?1, ?2) ON CONFLICT DO UPDATE SET usedAt = ?2 WHERE usedAt < ?2 - ${day}`,
      [agent, this.now()],
    );
  }

  /** Agents with a queue in the last thirty days, removed ones included. */
  queues(): string[] {
    return this.all<{ agent: string }>('SELECT agent FROM queues ORDER BY agent').map(({ agent }) => agent);
  }

  /** The bus forgets unread queues by itself. */
  #sweep(): void {
    const before = this.now() - keptMs;
    this.write('DELETE FROM skills WHERE seenAt < ?', [before]);
    this.write('DELETE FROM queues WHERE usedAt < ?', [before]);
  }
}
