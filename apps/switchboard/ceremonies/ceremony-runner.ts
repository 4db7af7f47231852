import { type Bus, type Draft, escapeSegment, type Message, type Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import { type Clock, type Fire, type Job, Scheduler, type Timer } from '@trunkline/schedule';
import type { CeremonyRun, CeremonyRunStatus } from '../api-types.ts';
import type { Leader } from '../cluster/leader.ts';
import { filesOf, namesOf } from '../content/references.ts';
import { derivedId } from '../core/messages.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { Ceremony } from '../workspace/schema/agent.ts';
import type { RunStore } from './run-store.ts';

export interface CeremonyRunnerSettings {
  bus: Bus;
  clock: Clock;
  leader: Leader;
  store: RunStore;
  ceremonies: () => readonly Ceremony[];
  /** Name of the durable subscription. */
  durable: string;
  logger: Logger;
}

const limitMs = 10 * 60_000;

/**
 * Runs ceremonies from `ceremony.<id>.execute` to `.completed`. Every switchboard records the runs; the leader asks the
 * agents, collects answers and ends what takes too long. Message ids derive from the run, so that a new leader repeats
 * nothing after a crash.
 */
export function createCeremonyRunner({
  bus,
  durable,
  store,
  leader,
  clock,
  logger,
  ceremonies,
}: CeremonyRunnerSettings) {
  const timers = new Map<string, Timer>();
  let subscription: Subscription | undefined;

  async function start(): Promise<void> {
    const options = { durable, plugin: 'ceremonies' };
    subscription = await bus.subscribe('ceremony.#', (message) => read(message), options);
  }

  /** Continues running ceremonies as leader, or leaves them to the new one. */
  async function lead(isLeader: boolean): Promise<void> {
    for (const timer of timers.values()) timer.cancel();
    timers.clear();
    if (!isLeader) return;
    for (const run of store.running()) await drive(run);
  }

  async function stop(): Promise<void> {
    for (const timer of timers.values()) timer.cancel();
    await subscription?.unsubscribe();
  }

  async function read(message: Message): Promise<void> {
    const event = message.topic.split('.').at(-1);
    if (event === 'execute') await execute(message);
    else if (event === 'answered') await answered(message);
    else if (event === 'completed') completed(message);
  }

  async function execute({
    id,
    topic,
    payload,
    timestamp,
    source,
    principal = anonymous,
  }: Message): Promise<void> {
    const fields = fieldsOf(payload);
    const run = {
      runId: text(fields.runId) ?? id,
      ceremonyId: topic.split('.')[1] ?? '',
      trigger: text(fields.trigger) ?? text(fields.requestedBy) ?? source?.userId ?? 'bus',
      scheduledAt: typeof fields.scheduledAt === 'number' ? fields.scheduledAt : null,
      startedAt: timestamp,
    };
    store.begin(run, principal);
    const known = store.get(run.runId);
    if (known?.status === 'running' && leader.isLeader()) await drive(known);
  }

  async function answered({ parentId, correlationId, payload }: Message): Promise<void> {
    const fields = fieldsOf(payload);
    const files = filesOf(payload);
    const made = files.length === 0 ? [] : [`(Made: ${namesOf(files)})`];
    const content = [text(fields.content) ?? '', ...made].filter((words) => words !== '').join('\n');
    const error = text(fields.error) ?? null;
    store.answer(correlationId, { requestId: parentId ?? '', error, content, files });
    const run = store.get(correlationId);
    if (run?.status === 'running' && leader.isLeader()) await endIfDone(run);
  }

  function completed({ payload, timestamp }: Message): void {
    const outcome = fieldsOf(fieldsOf(payload).outcome);
    const runId = text(outcome.runId) ?? '';
    store.end(runId, outcome.status as CeremonyRunStatus, text(outcome.detail) ?? null, timestamp);
    timers.get(runId)?.cancel();
    timers.delete(runId);
  }

  /** Asks all targets (again: their message ids are stable) and starts the timeout. */
  async function drive(run: CeremonyRun): Promise<void> {
    const ceremony = find(run);
    if (ceremony === undefined)
      return await end(
        run,
        'failure',
        `there is no ceremony ${run.ceremonyId}; write ceremonies/${run.ceremonyId}.yaml`,
      );
    const left = Math.max(0, run.startedAt + limitMs - clock.now());
    timers.get(run.runId)?.cancel();
    const tooLate = () => {
      end(run, 'timeout', 'it took more than 10 minutes').catch((error: unknown) =>
        logger.error({ err: error, runId: run.runId }, 'failed to publish end of ceremony'),
      );
    };
    timers.set(run.runId, clock.setTimer(left, tooLate));
    const principal = store.principalOf(run.runId);
    for (const request of requestsOf(run, ceremony)) await bus.publish({ ...request, principal });
    await endIfDone(run);
  }

  async function endIfDone(run: CeremonyRun): Promise<void> {
    const ceremony = find(run);
    if (ceremony === undefined) return;
    const known = new Map(store.answers(run.runId).map((answer) => [answer.requestId, answer]));
    const requests = requestsOf(run, ceremony);
    const answers = requests.flatMap(({ id }) => known.get(id ?? '') ?? []);
    if (answers.length < requests.length) return;
    const failure = answers.find(({ error }) => error !== null);
    if (failure === undefined)
      return await end(run, 'success', answers.map(({ content }) => content).join('\n\n'));
    await end(run, 'failure', failure.error ?? '');
  }

  /** Only the first end counts: a second one has the same id and is not delivered. */
  async function end(run: CeremonyRun, status: CeremonyRunStatus, detail: string): Promise<void> {
    const { runId, ceremonyId } = run;
    if (store.get(runId)?.status !== 'running') return;
    const durationMs = clock.now() - run.startedAt;
    await bus.publish({
      topic: `ceremony.${escapeSegment(ceremonyId)}.completed`,
      id: derivedId(runId, 'completed'),
      correlationId: runId,
      payload: { outcome: { runId, status, durationMs, detail } },
    });
    await notify(run, status, detail);
  }

  async function notify(run: CeremonyRun, status: CeremonyRunStatus, detail: string): Promise<void> {
    const ceremony = find(run);
    if (ceremony === undefined || ceremony.notifyChannel === '') return;
    const said = status === 'success' ? detail : `ended with ${status}: ${detail}`;
    const files = store.answers(run.runId).flatMap((answer) => answer.files);
    await bus.publish({
      topic: `message.outbound.chat.push.${escapeSegment(ceremony.notifyChannel)}`,
      id: derivedId(run.runId, 'notice'),
      correlationId: run.runId,
      payload: {
        content: `${ceremony.name}: ${said}`,
        channel: ceremony.notifyChannel,
        ...(files.length > 0 && { files }),
      },
      // Files are read on behalf of whoever they were made for.
      ...(files.length > 0 && { principal: store.principalOf(run.runId) }),
    });
  }

  function find({ ceremonyId }: CeremonyRun): Ceremony | undefined {
    return ceremonies().find(({ id }) => id === ceremonyId);
  }

  return { start, lead, stop };
}

function requestsOf({ runId }: CeremonyRun, { id, name, description, skill, targets }: Ceremony): Draft[] {
  const askedOf = targets.length === 0 ? [undefined] : targets;
  return askedOf.map((agent) => ({
    topic: 'agent.skill.request',
    id: derivedId(runId, `request ${agent ?? ''}`),
    correlationId: runId,
    payload: {
      skillHint: skill,
      content: description ?? name,
      systemActor: 'ceremony',
      ceremonyId: id,
      runId,
      ...(agent !== undefined && { agent }),
    },
    source: { interface: 'ceremony', channelId: id },
    reply: { topic: `ceremony.${escapeSegment(id)}.answered` },
  }));
}

/** Starts ceremonies by their schedules, in UTC, while this switchboard leads. */
export function createTimetable({
  clock,
  logger,
  store,
  bus,
  leader,
  ceremonies,
}: Omit<CeremonyRunnerSettings, 'durable'>) {
  let scheduler: Scheduler | undefined;

  async function lead(isLeader: boolean): Promise<void> {
    await stop();
    if (!isLeader) return;
    scheduler = new Scheduler({
      clock,
      timezone: 'UTC',
      fire: (job, fire) => begin(job, fire),
      beforeFire: () => leader.confirm(),
      onError: (error, { id }) => logger.error({ err: error, ceremony: id }, 'failed to start ceremony'),
    });
    refresh();
    scheduler.start();
  }

  function refresh(): void {
    if (scheduler === undefined) return;
    const wanted = new Map(ceremonies().map((ceremony) => [ceremony.id, ceremony]));
    for (const { job } of scheduler.list()) if (!wanted.has(job.id)) scheduler.remove(job.id);
    for (const ceremony of wanted.values()) scheduler.replace(jobOf(ceremony));
  }

  async function stop(): Promise<void> {
    const stopping = scheduler;
    scheduler = undefined;
    await stopping?.stop(0);
  }

  function jobOf({ id, schedule, enabled }: Ceremony): Job {
    const lastFired = store.lastScheduled(id);
    const rule = `${schedule} ${enabled}`;
    const createdAt = store.since(id, rule, clock.now());
    return {
      id,
      schedule,
      overlap: 'skip',
      paused: !enabled,
      createdAt,
      ...(lastFired !== undefined && { lastFired }),
    };
  }

  async function begin({ id }: Job, { fireId, scheduledAt }: Fire): Promise<void> {
    if (store.running().some(({ ceremonyId }) => ceremonyId === id)) {
      logger.warn({ ceremony: id }, 'ceremony skipped: its last run has not ended');
      return;
    }
    await bus.publish({
      topic: `ceremony.${escapeSegment(id)}.execute`,
      id: derivedId(fireId, 'ceremony'),
      timestamp: clock.now(),
      payload: { runId: derivedId(fireId, 'run'), trigger: 'schedule', scheduledAt },
      source: { interface: 'ceremony', channelId: id },
      principal: { kind: 'service', id: `ceremony:${id}`, via: [] },
    });
  }

  return { lead, refresh, stop };
}
