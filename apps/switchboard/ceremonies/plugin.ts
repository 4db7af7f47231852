import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { escapeSegment } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { type Clock, parseSchedule, systemClock } from '@trunkline/schedule';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { CeremonyRun, CeremonyView } from '../api-types.ts';
import { followLeader, type Leader, nodeName } from '../cluster/leader.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { hourly } from '../core/timers.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import type { Ceremony } from '../workspace/schema/agent.ts';
import { entryName } from '../workspace/schema/names.ts';
import { createCeremonyRunner, createTimetable } from './ceremony-runner.ts';
import { RunStore } from './run-store.ts';

const errors = defineErrors({
  ceremony_unknown: [404, ({ id }: { id: string }) => `There is no ceremony ${id}; see GET /api/ceremonies.`],
});

const limitQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(50) });

export class CeremonyPlugin implements Plugin {
  readonly name = 'ceremonies';
  readonly description = 'Runs ceremonies, in which several agents work at a set time.';
  readonly after = ['leader'];
  readonly #leader: Leader;
  readonly #clock: Clock;
  #store: RunStore | undefined;
  #context: PluginContext | undefined;
  #close: () => Promise<void> = async () => undefined;

  constructor(leader: Leader, clock: Clock = systemClock) {
    this.#leader = leader;
    this.#clock = clock;
  }

  mount(app: Hono<SwitchboardEnv>): void {
    mountCeremonies(app, this);
  }

  async start(context: PluginContext): Promise<void> {
    await using closing = new AsyncDisposableStack();
    const { bus, workspace, logger, home } = context;
    const store = new RunStore(join(home, 'ceremonies.db'));
    closing.defer(() => store.close());
    const [leader, clock] = [this.#leader, this.#clock];
    const parts = { bus, clock, leader, store, ceremonies: workspace.ceremonies, logger };
    const runner = createCeremonyRunner({ ...parts, durable: await durableName(context) });
    closing.defer(() => runner.stop());
    const timetable = createTimetable(parts);
    closing.defer(() => timetable.stop());
    closing.defer(
      workspace.onChange(
        (file) => file.startsWith(join(workspace.directory, 'ceremonies')) && timetable.refresh(),
      ),
    );
    closing.defer(hourly(() => store.sweep(clock.now()), logger));
    this.#store = store;
    this.#context = context;
    await runner.start();
    const lead = async (isLeader: boolean) => {
      await runner.lead(isLeader);
      await timetable.lead(isLeader);
    };
    const following = followLeader(leader, lead, (error) =>
      logger.error({ err: error }, 'failed to take over ceremonies'),
    );
    closing.defer(() => following.stop());
    const opened = closing.move();
    this.#close = () => opened.disposeAsync();
  }

  async stop(): Promise<void> {
    this.#store = undefined;
    await this.#close();
  }

  list(): CeremonyView[] {
    const { workspace } = this.#context ?? {};
    return (workspace?.ceremonies() ?? []).map((ceremony) => this.#view(ceremony));
  }

  /** Starts a run at once; undefined when there is no such ceremony. */
  async run(id: string, by: string, principal: Principal): Promise<{ runId: string } | undefined> {
    if (this.#context === undefined || !this.list().some((ceremony) => ceremony.id === id)) return undefined;
    const runId = randomUUID();
    await this.#context.bus.publish({
      topic: `ceremony.${escapeSegment(id)}.execute`,
      timestamp: this.#clock.now(),
      payload: { runId, trigger: by },
      source: { interface: 'api', userId: by },
      principal,
    });
    return { runId };
  }

  runs(id: string, limit: number): CeremonyRun[] {
    return this.#store?.list(id, limit) ?? [];
  }

  /** Whether it has a file, which may be read in a moment, or not be usable. */
  async isWritten(id: string): Promise<boolean> {
    if (!entryName.safeParse(id).success) return false;
    const text = await this.#context?.controlPlane.read('ceremony', id);
    return text !== undefined && text !== null;
  }

  #view(ceremony: Ceremony): CeremonyView {
    const next = parseSchedule(ceremony.schedule, { timezone: 'UTC' }).next(this.#clock.now());
    const nextRun = ceremony.enabled && next !== undefined ? new Date(next).toISOString() : null;
    return { ...ceremony, nextRun, lastRun: this.runs(ceremony.id, 1)[0] ?? null };
  }
}

/** On a shared bus each switchboard needs a durable name of its own. */
async function durableName({ bus, home }: PluginContext): Promise<string> {
  return bus.status().engine === 'embedded' ? 'ceremonies' : `ceremonies-${await nodeName(home)}`;
}

function mountCeremonies(app: Hono<SwitchboardEnv>, ceremonies: CeremonyPlugin): void {
  const { ceremony_unknown } = errors;
  app.get(
    '/api/ceremonies',
    describeRoute({ summary: 'All ceremonies with their next and last run' }),
    (context) => context.json({ success: true, data: ceremonies.list() }),
  );
  const one = describeRoute({
    summary: 'A ceremony (null while its file is not read, or cannot be used) and its runs, the newest first',
    errors: [ceremony_unknown],
  });
  app.get('/api/ceremonies/:id', one, validate('query', limitQuery), async (context) => {
    const id = context.req.param('id');
    const ceremony = ceremonies.list().find((known) => known.id === id) ?? null;
    if (ceremony === null && !(await ceremonies.isWritten(id))) throw ceremony_unknown({ id });
    const runs = ceremonies.runs(id, context.req.valid('query').limit);
    return context.json({ success: true, data: { ceremony, runs } });
  });
  const run = describeRoute({ summary: 'Begins a run at once', status: 202, errors: [ceremony_unknown] });
  app.post('/api/ceremonies/:id/run', run, async (context) => {
    const id = context.req.param('id');
    const begun = await ceremonies.run(id, context.get('caller').name, context.get('principal'));
    if (begun === undefined) throw ceremony_unknown({ id });
    return context.json({ success: true, data: begun }, 202);
  });
}
