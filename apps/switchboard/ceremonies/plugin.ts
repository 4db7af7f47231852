import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { escapeSegment } from '@trunkline/bus';
import type { Principal } from '@trunkline/identity';
import { type Clock, parseSchedule, systemClock } from '@trunkline/schedule';
import type { Hono } from 'hono';
import type { CeremonyRun, CeremonyView } from '../api-types.ts';
import type { Leader } from '../cluster/leader.ts';
import { nodeName } from '../cluster/node-name.ts';
import { hourly } from '../core/hourly.ts';
import type { Plugin, PluginContext } from '../core/plugin.ts';
import { mountCeremonies } from '../routes/ceremonies.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import type { Ceremony } from '../workspace/schema/ceremony.ts';
import { entryName } from '../workspace/schema/names.ts';
import { CeremonyRunner } from './ceremony-runner.ts';
import type { CeremonyService } from './ceremony-service.ts';
import { RunStore } from './run-store.ts';
import { Timetable } from './timetable.ts';

/** Ceremonies: skills that agents perform at set times. */
export class CeremonyPlugin implements Plugin, CeremonyService {
  readonly name = 'ceremonies';
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
    const runner = new CeremonyRunner({ ...parts, durable: await durableName(context) });
    closing.defer(() => runner.stop());
    const timetable = new Timetable(parts);
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
    const follow = followLeader(leader, runner, timetable, context);
    closing.defer(() => follow.stop());
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

/** With one bus for several switchboards, each reads along under its own name. */
async function durableName({ bus, home }: PluginContext): Promise<string> {
  return bus.status().engine === 'embedded' ? 'ceremonies' : `ceremonies-${await nodeName(home)}`;
}

function followLeader(
  leader: Leader,
  runner: CeremonyRunner,
  timetable: Timetable,
  { logger }: PluginContext,
) {
  let turn: Promise<void> = Promise.resolve();
  let isOpen = true;
  const lead = async (isLeader: boolean) => {
    await runner.lead(isLeader);
    await timetable.lead(isLeader);
  };
  leader.onChange((token) => {
    if (!isOpen) return;
    turn = turn
      .then(() => lead(token !== undefined))
      .catch((error: unknown) => logger.error({ err: error }, 'the ceremonies could not be taken over'));
  });
  return {
    async stop() {
      isOpen = false;
      await turn;
    },
  };
}
