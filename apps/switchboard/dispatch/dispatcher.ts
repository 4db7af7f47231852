import { type Bus, type Delivery, type Message, NonRetryableError } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { leavesTurn, StepConflictError } from '@trunkline/loop';
import { Deadline, errorMessage, formatDuration, type Slot, untilAborted } from '@trunkline/std';
import type { Flow } from '../api-types.ts';
import { ownerOfMessage } from '../core/messages.ts';
import type { AbTests } from '../experiments/ab-tests.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { SenderRefusal } from '../surfaces/senders.ts';
import type { AgentLimiter } from './agent-limiter.ts';
import {
  type AgentQueueSettings,
  type AgentQueues,
  atOnce,
  type Cooldowns,
  createAgentQueues,
  isAwaitedBySomebody,
  reasonToQueue,
} from './agent-queues.ts';
import { type Announcer, createAnnouncer } from './announcer.ts';
import {
  canceledResult,
  cancellationOf,
  Ending,
  isOutage,
  type SkillContext,
  type SkillExecutor,
  type SkillFrame,
  type SkillResult,
} from './executor.ts';
import { createLiveRuns, type LiveRuns } from './live-runs.ts';
import type { OtherWorkers } from './other-workers.ts';
import {
  type DropReason,
  type ExecutorRegistry,
  resolveQueued,
  type SkillStore,
  waitForExecutor,
} from './registry.ts';
import { type Dispatch, fieldsOf, isFresh, readDispatch, text } from './request.ts';
import {
  createTaskTracker,
  type TaskStore,
  type TaskTracker,
  type TrackedRun,
  type TrackedTask,
} from './task-store.ts';

export interface DispatcherSettings {
  bus: Bus;
  registry: ExecutorRegistry;
  flows: FlowStore;
  cooldowns: Cooldowns;
  limiter: AgentLimiter;
  tasks: TaskStore;
  /** Choose the arm of an A/B test. */
  arms: Pick<AbTests, 'choose' | 'note'>;
  skills: SkillStore;
  /** Concurrency of one agent's queue. */
  queueConcurrency: number;
  /** Limit of the wait for an executor that has not answered since the start. */
  executorWaitMs: number;
  /** Limit of the time without progress. */
  timeoutMs: number;
  /** Limit of a request in all, whatever progress it shows. */
  totalTimeoutMs: number;
  others: OtherWorkers;
  /** Why whoever asks does not reach the agent. */
  senderRefusal(dispatch: Dispatch, executor: SkillExecutor): SenderRefusal | undefined;
  /** Undefined when other services cannot reach this one. */
  callbackUrl: ((id: string) => string) | undefined;
  logger: Logger;
}

interface Run extends TrackedRun {
  ending: Ending;
  /** Other switchboards at work on it, or silent, have been waited for. */
  hasWaited?: boolean;
  /** Counts the attempt; called when the agent has a free slot. */
  begin(): Promise<void>;
}

type FinishedRun = Pick<TrackedTask, 'flowId' | 'message' | 'agent' | 'startedAt'>;

/** A request over which switchboards cannot agree is left to the attempts of the bus. */
const mostConflicts = 3;

/** Sends every skill request to an executor and always answers. */
export class Dispatcher {
  readonly #settings: DispatcherSettings;
  readonly #announcer: Announcer;
  readonly #queues: AgentQueues;
  readonly #tracker: TaskTracker;
  readonly #startedAt = Date.now();
  readonly #live: LiveRuns;
  #taken = 0;

  constructor(settings: DispatcherSettings) {
    this.#settings = settings;
    const { bus, logger, skills: store, queueConcurrency: concurrency } = settings;
    this.#announcer = createAnnouncer(bus, logger);
    this.#tracker = createTaskTracker(settings);
    const handle: AgentQueueSettings['handle'] = (...given) => this.#handleQueued(...given);
    this.#queues = createAgentQueues({ bus, concurrency, handle, store, logger });
    this.#live = createLiveRuns({ ...settings, finish: (...given) => this.finish(...given) });
  }

  async start(): Promise<void> {
    const { bus, registry } = this.#settings;
    const agents = () => registry.list().map(({ agent }) => agent);
    const options = { durable: 'dispatcher', group: 'dispatcher', concurrency: atOnce, plugin: 'dispatcher' };
    const handle = (message: Message, delivery: Delivery) => {
      this.#taken += 1;
      return this.#take(message, delivery).finally(() => {
        this.#taken -= 1;
      });
    };
    await this.#live.start();
    await bus.subscribe('agent.skill.request', handle, { ...options, explicitBegin: true });
    await this.#queues.start(agents());
    registry.onChange(() => this.#queues.ensureAll(agents()));
  }

  /** Whether a run in this process still follows the remote task. */
  isLive({ messageId }: TrackedTask): boolean {
    return this.#live.has(messageId);
  }

  /** Ends the flow of a remote task, or of a run that was cancelled. */
  async finish({ flowId, message, agent, startedAt }: FinishedRun, result: SkillResult): Promise<void> {
    if (this.#settings.flows.get(flowId)?.status === 'complete') return;
    await this.#settle(flowId, readDispatch(message), agent, result, startedAt);
  }

  async #take(message: Message, delivery: Delivery): Promise<void> {
    const { registry, cooldowns, tasks, arms, limiter } = this.#settings;
    const dispatch = readDispatch(message);
    const flow = this.#open(dispatch, delivery.attempt === 1);
    if (flow.status === 'complete' || tasks.isTracked(message.id)) return;
    if (delivery.attempt === 1) await this.#announcer.flow('created', flow, dispatch);
    const found = registry.resolve(dispatch.skill, dispatch.agent);
    if ('reason' in found) return await this.#drop(flow.id, dispatch, found.reason, found.why);
    const executor = arms.choose(dispatch, found.executor);
    if (await this.#turnsAway(flow.id, dispatch, executor)) return;
    // A redelivery took its cooldown before the restart.
    const cooling = delivery.attempt === 1 ? cooldowns.take(dispatch) : undefined;
    if (cooling !== undefined) return await this.#drop(flow.id, dispatch, 'cooldown', cooling);
    const situation = { limiter, taken: this.#taken, startedAt: this.#startedAt };
    const why = reasonToQueue(executor, dispatch, situation);
    if (why === undefined) {
      const resumes = delivery.attempt > 1 || !isFresh(message);
      return await this.#begin(flow.id, { ...dispatch, resumes }, executor, delivery);
    }
    this.#settings.flows.trace(flow.id, 'queued', { agent: executor.agent, why });
    await this.#queues.add(executor.agent, message);
  }

  /** Runs a queued request once its agent is there. */
  async #handleQueued(queue: string, message: Message, delivery: Delivery, queuedAt: number): Promise<void> {
    const { registry, tasks, executorWaitMs } = this.#settings;
    const dispatch = readDispatch(message);
    const flow = this.#open(dispatch, false);
    if (flow.status === 'complete' || tasks.isTracked(message.id)) return;
    const found = await waitForExecutor(
      registry,
      () => resolveQueued(registry, queue, dispatch),
      dispatch.skill,
      { deadline: Math.max(queuedAt, this.#startedAt) + executorWaitMs, stopping: delivery.stopping },
    );
    if (found === undefined) return await this.#giveUp(flow.id, dispatch, queue);
    if ('reason' in found) return await this.#drop(flow.id, dispatch, found.reason, found.why);
    if (await this.#turnsAway(flow.id, dispatch, found.executor)) return;
    // It may have begun before it was put into the queue.
    await this.#begin(flow.id, { ...dispatch, resumes: true }, found.executor, delivery);
  }

  /** Answers the caller and leaves the request among the dead letters. */
  async #giveUp(flowId: string, dispatch: Dispatch, agent: string): Promise<never> {
    const { flows, executorWaitMs } = this.#settings;
    const error = `${agent} has not answered for ${executorWaitMs / 1000} s (SWITCHBOARD_EXECUTOR_WAIT_MS), so ${dispatch.skill} was not done. The request is among the dead letters: replay it when ${agent} is back.`;
    flows.trace(flowId, 'dead-letter', { why: error });
    flows.block(flowId, true);
    const result = { content: '', error, taskState: 'failed' as const };
    await this.#announcer.answer(dispatch, result, 0, { purpose: 'gave-up' });
    throw new NonRetryableError(error);
  }

  async #begin(
    flowId: string,
    dispatch: Dispatch,
    executor: SkillExecutor,
    delivery: Delivery,
  ): Promise<void> {
    using ending = new Ending(delivery);
    const { message } = dispatch;
    const begin = () => delivery.begin();
    const run: Run = { flowId, dispatch, executor, ending, begin, startedAt: Date.now() };
    this.#live.add(message, ending);
    try {
      ending.signal.throwIfAborted();
      await this.#run(run);
    } catch (error) {
      const canceled = cancellationOf(ending.signal);
      if (canceled === undefined) throw error;
      await this.finish({ ...run, message, agent: executor.agent }, canceledResult(canceled));
      this.#tracker.end(run);
    } finally {
      this.#live.remove(message);
    }
  }

  #open(dispatch: Dispatch, isFirst: boolean): Flow {
    const { flows } = this.#settings;
    const { skill, agent, message, routing } = dispatch;
    const { id: messageId, correlationId } = message;
    const request = text(fieldsOf(message.payload).content) ?? '';
    const flow = flows.open({ messageId, correlationId, skill, request, owner: ownerOfMessage(message) });
    const isNew = isFirst && flow.status !== 'complete';
    if (isNew) flows.trace(flow.id, 'request', { skill, agent, messageId, routing });
    return flow;
  }

  async #drop(flowId: string, dispatch: Dispatch, reason: DropReason, why: string): Promise<void> {
    this.#settings.flows.trace(flowId, 'dropped', { reason, why });
    await this.#announcer.dropped(reason, why, dispatch);
    await this.#end(flowId, dispatch, { content: '', error: why, taskState: 'rejected' }, 0);
  }

  /** The request stays among the flows with its reason; a stranger is told what to do, but not each time. */
  async #turnsAway(flowId: string, dispatch: Dispatch, executor: SkillExecutor): Promise<boolean> {
    const refusal = this.#settings.senderRefusal(dispatch, executor);
    if (refusal === undefined) return false;
    const { why, notice } = refusal;
    this.#settings.flows.trace(flowId, 'dropped', { reason: 'unpaired', why });
    await this.#announcer.dropped('unpaired', why, dispatch);
    const { message, ...asked } = dispatch;
    const { reply: _, ...unanswered } = message;
    const answered = notice === undefined ? unanswered : message;
    const result = { content: '', error: why, taskState: 'rejected' as const };
    await this.#end(flowId, { ...asked, message: answered }, result, 0, notice);
    return true;
  }

  /** Runs a request, unless another switchboard has taken it over: then that one answers. */
  async #run(run: Run): Promise<void> {
    const { flows, others } = this.#settings;
    const { flowId, ending } = run;
    for (let conflicts = 1; ; conflicts += 1) {
      try {
        return await this.#runHere(run);
      } catch (error) {
        if (!(error instanceof StepConflictError) || conflicts === mostConflicts) throw error;
      } finally {
        others.running.delete(run.dispatch.requestId);
      }
      ending.waits(true);
      flows.trace(flowId, 'elsewhere', { agent: run.executor.agent });
      const end = await others.waitForEnd(run.dispatch, ending.signal);
      if (end !== undefined) {
        const { error } = end;
        const taskState = error === undefined ? 'completed' : 'failed';
        const flow = await flows.end(flowId, error, { taskState, error });
        await this.#announcer.flow('completed', flow, run.dispatch);
        return;
      }
      run.dispatch = { ...run.dispatch, resumes: true };
      run.hasWaited = true;
    }
  }

  async #runHere(run: Run): Promise<void> {
    const { executor, flowId, dispatch, ending } = run;
    const work = async (slot: Slot) => {
      ending.waits(false);
      await run.begin();
      run.startedAt = Date.now();
      await this.#announceStart(run);
      return await this.#execute(run, slot);
    };
    const isAwaited = isAwaitedBySomebody(dispatch, this.#startedAt);
    ending.waits(true);
    const result = await this.#settings.limiter.run(executor.agent, ending.signal, work, { isAwaited });
    const { taskId, contextId, error } = result;
    if (result.taskState === 'working' && taskId !== undefined) {
      this.#tracker.track(run, { taskId, ...(contextId !== undefined && { contextId }) });
      return;
    }
    // The bus redelivers what the shutdown cut short.
    if (ending.signal.aborted && error !== undefined) throw new Error('The switchboard stopped meanwhile.');
    await this.#settle(flowId, dispatch, executor.agent, result, run.startedAt);
    this.#tracker.end(run);
  }

  async #announceStart({ flowId, executor, dispatch, hasWaited = false }: Run): Promise<void> {
    const { flows } = this.#settings;
    flows.trace(flowId, 'start', { agent: executor.agent, executor: executor.type });
    const flow = flows.start(flowId, executor.type, executor.agent);
    await this.#announcer.flow('updated', flow, dispatch);
    if (!hasWaited) await this.#announcer.chat('inbound', dispatch, executor, dispatch);
  }

  /** Failures become results; an executor that ignores its signal is abandoned. */
  async #execute(run: Run, slot: Slot): Promise<SkillResult> {
    const { executor, dispatch, ending } = run;
    const { timeoutMs, totalTimeoutMs, others, logger } = this.#settings;
    const deadline = new Deadline({ timeoutMs, totalMs: totalTimeoutMs, signal: ending.signal });
    let silentMs = timeoutMs;
    others.running.add(dispatch.requestId);
    try {
      const context = this.#contextOf(run, deadline.signal);
      const work = executor.execute(dispatch, {
        ...context,
        slot,
        // What still reports progress is not cut.
        tell: (frame) => {
          deadline.extend();
          context.tell(frame);
        },
        extend: (moreMs) => {
          silentMs = timeoutMs + moreMs;
          deadline.extend(moreMs);
        },
      });
      return await untilAborted(work, deadline.signal);
    } catch (error) {
      // It goes on at another switchboard, or at the next attempt; a remote task continues without the connection.
      if (leavesTurn(error) || isOutage(error) || cancellationOf(ending.signal) !== undefined) throw error;
      if (run.task !== undefined) return { content: '', taskState: 'working', ...run.task };
      const words = deadline.isTotalExpired
        ? `${executor.agent} was still at work after ${formatDuration(totalTimeoutMs)} (SWITCHBOARD_SKILL_TOTAL_TIMEOUT_MS)`
        : deadline.isExpired
          ? `${executor.agent} did nothing for ${silentMs / 1000} s (SWITCHBOARD_SKILL_TIMEOUT_MS)`
          : errorMessage(error);
      logger.warn({ err: error, agent: executor.agent, skill: dispatch.skill }, 'skill failed');
      return { content: '', error: words, taskState: 'failed', unavailable: true };
    } finally {
      deadline.clear();
    }
  }

  #contextOf(run: Run, signal: AbortSignal): SkillContext {
    const callback = this.#tracker.callbackFor(run);
    return {
      signal,
      tell: (frame) => this.#tell(run, frame),
      isElsewhere: () => this.#isElsewhere(run),
      track: (task) => this.#tracker.tryTrack(run, task),
      ...(callback !== undefined && { callback }),
    };
  }

  /** Who cannot be asked may be at work, until all have been silent for long enough. */
  async #isElsewhere({ dispatch, hasWaited = false }: Run): Promise<boolean> {
    const known = await this.#settings.others.ask(dispatch);
    return known === 'unknown' ? !hasWaited : known !== undefined;
  }

  #tell({ flowId, dispatch, ending }: Run, frame: SkillFrame): void {
    if (frame.type !== 'progress' && frame.type !== 'reasoning')
      this.#settings.flows.trace(flowId, frame.type, frame);
    if (frame.type === 'input-start' || frame.type === 'input-end') {
      const approval = frame.type === 'input-end' ? frame.approval : undefined;
      this.#settings.flows.block(flowId, frame.type === 'input-start', approval);
      ending.waits(frame.type === 'input-start');
    } else if (dispatch.stream) this.#announcer.frame(dispatch, frame);
  }

  async #settle(
    flowId: string,
    dispatch: Dispatch,
    agent: string,
    result: SkillResult,
    startedAt: number,
  ): Promise<void> {
    const times = { startedAt, endedAt: Date.now() };
    const durationMs = times.endedAt - startedAt;
    const executor = this.#settings.registry.agent(agent);
    if (executor !== undefined && result.error === undefined)
      await this.#announcer.chat('outbound', dispatch, executor, result);
    await this.#end(flowId, dispatch, result, durationMs);
    await this.#announcer.outcome(dispatch, agent, result, times);
    if (result.taskState !== 'canceled')
      await this.#settings.arms.note(dispatch, agent, result.error === undefined, durationMs);
  }

  async #end(
    flowId: string,
    dispatch: Dispatch,
    result: SkillResult,
    durationMs: number,
    words?: string,
  ): Promise<void> {
    const { flows } = this.#settings;
    await this.#announcer.answer(dispatch, result, durationMs, { words });
    const { error, taskState, usage, origins } = result;
    const replyTopic = dispatch.message.reply?.topic;
    const flow = await flows.end(flowId, error, { taskState, error, usage, replyTopic });
    await this.#announcer.flow('completed', flow, dispatch, origins);
  }
}
