import { createHash } from 'node:crypto';
import type { Bus, Message, Subscription } from '@trunkline/bus';
import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { Store } from '../core/store.ts';
import type { SkillExecutor } from '../dispatch/executor.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import type { Dispatch } from '../dispatch/request.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';

const migrations = [
  `CREATE TABLE tests (
     skill TEXT PRIMARY KEY, n INTEGER NOT NULL, control TEXT NOT NULL, challenger TEXT NOT NULL, startedAt INTEGER NOT NULL) STRICT;
   CREATE TABLE runs (
     skill TEXT NOT NULL REFERENCES tests (skill) ON DELETE CASCADE, messageId TEXT NOT NULL, agent TEXT NOT NULL,
     success INTEGER NOT NULL, durationMs INTEGER NOT NULL, PRIMARY KEY (skill, messageId)) STRICT, WITHOUT ROWID;`,
];

const registration = z.object({
  skill: z.string().min(1),
  n: z.int().min(2).max(100_000),
  controlAgentName: z.string().min(1).optional(),
  challengerAgentName: z.string().min(1),
});

/** A/B tests of two agents at a skill: half of the requests go to each until there were enough. */
export function createAbTests(store: AbStore, registry: ExecutorRegistry, bus: Bus) {
  function start(): Promise<Subscription> {
    const options = { group: 'ab-tests', plugin: 'ab-tests' };
    return bus.subscribe('skill.ab_test.register', (message) => register(message), options);
  }

  /** Derived from the correlation, so that all of one task goes to one agent. */
  function choose({ skill, agent, correlationId }: Dispatch, executor: SkillExecutor): SkillExecutor {
    const test = store.get(skill);
    if (test === undefined || executor.agent !== test.control) return executor;
    if (agent !== undefined && agent !== test.control) return executor;
    if (armOf(correlationId) === 'control') return executor;
    const found = registry.resolve(skill, test.challenger);
    return 'executor' in found ? found.executor : executor;
  }

  async function note(
    { skill, message }: Dispatch,
    agent: string,
    success: boolean,
    durationMs: number,
  ): Promise<void> {
    const test = store.get(skill);
    if (test === undefined || (agent !== test.control && agent !== test.challenger)) return;
    store.note(skill, message.id, agent, success, durationMs);
    const figures = standing(test);
    if (figures.control.runs + figures.challenger.runs < test.n) return;
    store.end(skill);
    const payload = { skill, n: test.n, ...figures, winner: winnerOf(figures) };
    await bus.publish({ topic: 'skill.ab_test.resolved', payload });
  }

  function list() {
    return store.list().map((test) => ({ skill: test.skill, n: test.n, ...standing(test) }));
  }

  function standing({ skill, control, challenger }: AbTest) {
    return {
      control: store.figures(skill, control),
      challenger: store.figures(skill, challenger),
    };
  }

  function register({ payload, timestamp }: Message): void {
    const { skill, n, controlAgentName, challengerAgentName: challenger } = registration.parse(payload);
    const found = registry.resolve(skill, controlAgentName);
    if ('reason' in found) throw new Error(`The test of ${skill} is refused: ${found.why}.`);
    const rival = registry.resolve(skill, challenger);
    if ('reason' in rival) throw new Error(`The test of ${skill} is refused: ${rival.why}.`);
    const control = found.executor.agent;
    if (control === challenger)
      throw new Error(`The test of ${skill} needs two agents, not ${control} twice.`);
    store.begin({ skill, n, control, challenger, startedAt: timestamp });
  }

  return { start, choose, note, list };
}

export type AbTests = ReturnType<typeof createAbTests>;

function armOf(correlationId: string): 'control' | 'challenger' {
  const [first = 0] = createHash('sha256').update(correlationId).digest();
  return first % 2 === 0 ? 'control' : 'challenger';
}

/** By success rate, then speed; null for a draw. */
function winnerOf({ control, challenger }: { control: ArmFigures; challenger: ArmFigures }): string | null {
  const [left, right] = [control.successRate ?? -1, challenger.successRate ?? -1];
  if (left !== right) return left > right ? control.agent : challenger.agent;
  const [slow, fast] = [control.meanMs ?? 0, challenger.meanMs ?? 0];
  if (slow === fast) return null;
  return slow < fast ? control.agent : challenger.agent;
}

interface AbTest {
  skill: string;
  /** Total runs that decide it. */
  n: number;
  control: string;
  challenger: string;
  startedAt: number;
}

interface ArmFigures {
  agent: string;
  runs: number;
  successes: number;
  /** From 0 to 1; null before the first run. */
  successRate: number | null;
  meanMs: number | null;
}

export class AbStore extends Store {
  /** Skills under test: each request asks, and hardly any is. */
  #skills: ReadonlySet<string> | undefined;

  constructor(path: string) {
    super(path, migrations);
  }

  /** Replaces a running test of the same skill. */
  begin({ skill, n, control, challenger, startedAt }: AbTest): void {
    this.end(skill);
    this.write('INSERT INTO tests (skill, n, control, challenger, startedAt) VALUES (?, ?, ?, ?, ?)', [
      skill,
      n,
      control,
      challenger,
      startedAt,
    ]);
    this.#skills = undefined;
  }

  get(skill: string): AbTest | undefined {
    this.#skills ??= new Set(this.list().map((test) => test.skill));
    if (!this.#skills.has(skill)) return undefined;
    return this.one<AbTest>('SELECT * FROM tests WHERE skill = ?', [skill]);
  }

  list(): AbTest[] {
    return this.all<AbTest>('SELECT * FROM tests ORDER BY skill');
  }

  /** A redelivered message is one run. */
  note(skill: string, messageId: string, agent: string, success: boolean, durationMs: number): void {
    this.write(
      'INSERT OR IGNORE INTO runs (skill, messageId, agent, success, durationMs) VALUES (?, ?, ?, ?, ?)',
      [skill, messageId, agent, success ? 1 : 0, durationMs],
    );
  }

  figures(skill: string, agent: string): ArmFigures {
    const found = this.one<{ runs: number; successes: number | null; meanMs: number | null }>(
      'SELECT count(*) AS runs, sum(success) AS successes, avg(durationMs) AS meanMs FROM runs WHERE skill = ? AND agent = ?',
      [skill, agent],
    );
    const { runs = 0, successes, meanMs = null } = found ?? {};
    return {
      agent,
      runs,
      successes: successes ?? 0,
      successRate: runs === 0 ? null : (successes ?? 0) / runs,
      meanMs: meanMs === null ? null : Math.round(meanMs),
    };
  }

  end(skill: string): void {
    this.write('DELETE FROM tests WHERE skill = ?', [skill]);
    this.#skills = undefined;
  }
}

export function mountExperiments(app: Hono<SwitchboardEnv>, tests: AbTests): void {
  app.get('/api/ab-tests', describeRoute({ summary: 'Comparisons of agents under way' }), (context) =>
    context.json({ success: true, data: tests.list() }),
  );
}
