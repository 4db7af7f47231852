import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createA2aClient } from '@trunkline/a2a';
import { BusError, type Subscription } from '@trunkline/bus';
import { usualSilenceMs } from '@trunkline/llm';
import { type Clock, systemClock } from '@trunkline/schedule';
import type { Hono } from 'hono';
import type { FireRow } from '../api-types.ts';
import { followLeader, type Leader, nodeName } from '../cluster/leader.ts';
import { SharedLog, type WorkspaceReplica } from '../cluster/workspace-replica.ts';
import { aboutSchedule } from '../core/messages.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { mountSchedules } from '../routes/schedules.ts';
import { announce } from '../workspace/problems.ts';
import { createA2aDelivery } from './a2a-delivery.ts';
import { type CommandParts, listenForCommands } from './commands.ts';
import { CronFolder } from './cron-folder.ts';
import { createFireCompletion, createFireResults, removeFinished } from './fire-results.ts';
import { Ledger } from './ledger.ts';
import { type FireReplica, Schedules, type SharedFire } from './schedules.ts';

/** Added to the skill timeout. */
const marginMs = 60_000;
const historyLength = 50;
const retryMs = 1000;

/** The workspace as other switchboards have it. */
type SharedFiles = Pick<WorkspaceReplica, 'catchUp' | 'noteSave'>;

/** Schedules from files in `crons/` and from commands. */
export class SchedulerPlugin implements Plugin {
  readonly name = 'scheduler';
  readonly description = 'Publishes the messages of schedules at their times.';
  readonly after = ['leader', 'workspace-replica'];
  readonly #leader: Leader;
  readonly #clock: Clock;
  readonly #files: SharedFiles;
  #schedules: Schedules | undefined;
  #close: () => Promise<void> = async () => undefined;

  constructor(leader: Leader, files: SharedFiles, clock: Clock = systemClock) {
    this.#leader = leader;
    this.#files = files;
    this.#clock = clock;
  }

  mount(app: Hono<SwitchboardEnv>, { bus }: PluginContext): void {
    mountSchedules(app, bus, () => this.#schedules);
  }

  ownerOf(id: string): string | null | undefined {
    return this.#schedules?.ownerOf(id);
  }

  async start(context: PluginContext): Promise<void> {
    await using closing = new AsyncDisposableStack();
    const { bus, controlPlane, workspace, logger, accounts, options } = context;
    const ledger = new Ledger(join(context.home, 'schedules.db'));
    closing.defer(() => {
      this.#schedules = undefined;
      ledger.close();
    });
    const folder = this.#openFolder(context, ledger, closing);
    // After a restart nobody knows whether a skill still makes progress.
    const outcomeLimitMs = (options.skillTimeoutMs ?? usualSilenceMs) + marginMs;
    const [leader, clock] = [this.#leader, this.#clock];
    const outcomes = createFireResults({
      bus,
      clock,
      // While it makes progress it goes on, up to its limit in all.
      limitMs: Math.max(outcomeLimitMs, options.skillTotalTimeoutMs + marginMs),
      onStray: (...given) => void this.#schedules?.ended(...given),
    });
    await outcomes.start();
    const replica = await this.#openReplica(context, { ledger, folder }, closing);
    const fireCompletion = createFireCompletion({
      folder,
      controlPlane,
      isBusy: () => this.#schedules?.isBusy() ?? false,
      onRemoved: async (id, schedule) => await replica?.share({ ended: id, schedule }),
      logger,
    });
    closing.defer(() => fireCompletion.close());
    await folder.open();
    const parts = { bus, clock, leader, folder, ledger, outcomes, fireCompletion, replica, logger, accounts };
    const schedules = new Schedules({ ...parts, catchUp: () => this.#files.catchUp(), outcomeLimitMs });
    this.#schedules = schedules;
    closing.defer(() => schedules.stop());
    const { targets } = workspace;
    await createA2aDelivery({ bus, client: createA2aClient(clock), clock, targets, logger }).start();
    const leading = this.#followLeader(
      { bus, schedules, folder, controlPlane, fireCompletion, logger },
      closing,
    );
    // Fires of other switchboards may take a while to arrive.
    if (replica === undefined) await leading();
    else void schedules.recall();
    const opened = closing.move();
    this.#close = () => opened.disposeAsync();
  }

  async stop(): Promise<void> {
    await this.#close();
  }

  history(id: string): FireRow[] {
    return this.#schedules?.history(id, historyLength) ?? [];
  }

  #openFolder(
    { workspace, controlPlane, bus, logger }: PluginContext,
    ledger: Ledger,
    closing: AsyncDisposableStack,
  ): CronFolder {
    const directory = join(workspace.directory, 'crons');
    const folder = new CronFolder({
      directory,
      ledger,
      now: this.#clock.now,
      onChange: (id, entry, owner) => {
        this.#schedules?.changed(id, entry);
        const payload = { file: folder.path(id) };
        void announce(bus, logger, { topic: 'config.updated', payload, ...aboutSchedule(owner) });
      },
      onSave: (id) => this.#files.noteSave(folder.path(id)),
      // A file that this switchboard never had may be another, valid one elsewhere.
      onGoneUnseen: (id) => {
        if (controlPlane.hasWritten('cron', id)) this.#files.noteSave(folder.path(id));
      },
      onProblem: (path, error) => workspace.noteProblem(path, error),
      logger,
    });
    closing.defer(() => folder.close());
    return folder;
  }

  /** On a shared bus, each switchboard learns of the others' fires. */
  async #openReplica(
    { bus, home, controlPlane }: PluginContext,
    { ledger, folder }: { ledger: Ledger; folder: CronFolder },
    closing: AsyncDisposableStack,
  ): Promise<FireReplica | undefined> {
    if (bus.status().engine === 'embedded') return undefined;
    const onEntry = async (entry: SharedFire, isOwn: boolean) => {
      if (isOwn) return;
      if ('row' in entry) return void (await ledger.put(entry.row, this.ownerOf(entry.row.scheduleId)));
      await removeFinished({ folder, controlPlane }, entry.ended, entry.schedule);
    };
    const durable = `schedules-${await nodeName(home)}`;
    const replica = new SharedLog<SharedFire>({ bus, topic: 'schedule.fires', durable, onEntry });
    await replica.start();
    closing.defer(() => replica.stop());
    return replica;
  }

  /** Fires and takes commands while this switchboard leads. */
  #followLeader(parts: CommandParts, closing: AsyncDisposableStack): () => Promise<void> {
    let listening: Subscription | undefined;
    let isStopping = false;
    /** The leader must take commands: failures are retried. */
    const listen = async (): Promise<Subscription | undefined> => {
      while (this.#leader.isLeader() && !isStopping) {
        try {
          return await listenForCommands(parts);
        } catch (error) {
          if (error instanceof BusError && error.code === 'stopped') throw error;
          parts.logger.error({ err: error }, 'failed to listen for schedule commands; retrying');
          await delay(retryMs);
        }
      }
      return undefined;
    };
    const lead = async (isLeader: boolean) => {
      await parts.schedules.lead(isLeader);
      if (isLeader) {
        listening ??= await listen();
        return;
      }
      const ended = listening;
      listening = undefined;
      await ended?.unsubscribe();
    };
    const following = followLeader(this.#leader, lead, (error) =>
      parts.logger.error({ err: error }, 'failed to change leadership'),
    );
    closing.defer(async () => {
      isStopping = true;
      await following.stop();
      await listening?.unsubscribe();
    });
    return following.idle;
  }
}
