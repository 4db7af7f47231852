import type { Bus, Delivery, Message, Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { FlowStore } from '../flows/flow-store.ts';
import { Announcer } from './announcer.ts';
import type { Cooldowns } from './cooldowns.ts';
import type { SkillExecutor, SkillFrame, SkillResult } from './executor.ts';
import type { DropReason, ExecutorRegistry } from './registry.ts';
import { type Dispatch, readDispatch } from './request.ts';

export interface DispatcherSettings {
  bus: Bus;
  registry: ExecutorRegistry;
  flows: FlowStore;
  cooldowns: Cooldowns;
  /** How long one skill may take. */
  timeoutMs: number;
  logger: Logger;
}

const atOnce = 32;

/** Brings every request for a skill to an executor, and always an answer back. */
export class Dispatcher {
  readonly #settings: DispatcherSettings;
  readonly #announcer: Announcer;

  constructor(settings: DispatcherSettings) {
    this.#settings = settings;
    this.#announcer = new Announcer(settings.bus, settings.logger);
  }

  start(): Promise<Subscription> {
    const options = { durable: 'dispatcher', group: 'dispatcher', concurrency: atOnce, plugin: 'dispatcher' };
    return this.#settings.bus.subscribe('agent.skill.request', (...given) => this.#handle(...given), options);
  }

  async #handle(message: Message, delivery: Delivery): Promise<void> {
    const { flows, registry, cooldowns } = this.#settings;
    const dispatch = readDispatch(message);
    const flow = flows.open(message.id, message.correlationId, dispatch.skill);
    if (flow.status === 'complete') return;
    if (delivery.attempt === 1) await this.#begin(flow.id, dispatch);
    const found = registry.resolve(dispatch.skill, dispatch.agent);
    if ('reason' in found) return await this.#drop(flow.id, dispatch, found.reason, found.why);
    // A second attempt took its turn before the restart.
    const cooling = delivery.attempt === 1 ? cooldowns.take(dispatch) : undefined;
    if (cooling !== undefined) return await this.#drop(flow.id, dispatch, 'cooldown', cooling);
    await this.#run(flow.id, dispatch, found.executor, delivery.signal);
  }

  async #begin(flowId: string, dispatch: Dispatch): Promise<void> {
    const { skill, agent, message, routing } = dispatch;
    this.#settings.flows.trace(flowId, 'request', { skill, agent, messageId: message.id, routing });
    await this.#announcer.flow('created', this.#settings.flows.get(flowId), dispatch);
  }

  async #drop(flowId: string, dispatch: Dispatch, reason: DropReason, why: string): Promise<void> {
    this.#settings.flows.trace(flowId, 'dropped', { reason, why });
    await this.#announcer.dropped(reason, why, dispatch);
    await this.#end(flowId, dispatch, { content: '', error: why, taskState: 'rejected' }, 0);
  }

  async #run(
    flowId: string,
    dispatch: Dispatch,
    executor: SkillExecutor,
    stopping: AbortSignal,
  ): Promise<void> {
    const { flows } = this.#settings;
    const startedAt = Date.now();
    flows.start(flowId, executor.type, executor.agent);
    flows.trace(flowId, 'start', { agent: executor.agent, executor: executor.type });
    await this.#announcer.flow('updated', flows.get(flowId), dispatch);
    const result = await this.#execute(flowId, dispatch, executor, stopping);
    // What the end of the process cut short is done again after the start.
    if (stopping.aborted && result.error !== undefined) throw new Error('The switchboard stopped meanwhile.');
    const times = { startedAt, endedAt: Date.now() };
    await this.#end(flowId, dispatch, result, times.endedAt - startedAt);
    await this.#announcer.outcome(dispatch, executor.agent, result, times);
  }

  /** A failure is a result too; an executor that does not heed its signal is left behind. */
  async #execute(
    flowId: string,
    dispatch: Dispatch,
    executor: SkillExecutor,
    stopping: AbortSignal,
  ): Promise<SkillResult> {
    const limit = AbortSignal.timeout(this.#settings.timeoutMs);
    const signal = AbortSignal.any([stopping, limit]);
    const tell = (frame: SkillFrame) => this.#tell(flowId, dispatch, frame);
    try {
      return await Promise.race([executor.execute(dispatch, { signal, tell }), rejection(signal)]);
    } catch (error) {
      const words = limit.aborted
        ? `${executor.agent} did not finish within ${this.#settings.timeoutMs / 1000} s (SWITCHBOARD_SKILL_TIMEOUT_MS)`
        : messageOf(error);
      this.#settings.logger.warn(
        { err: error, agent: executor.agent, skill: dispatch.skill },
        'a skill failed',
      );
      return { content: '', error: words, taskState: 'failed' };
    }
  }

  #tell(flowId: string, dispatch: Dispatch, frame: SkillFrame): void {
    if (frame.type !== 'progress') this.#settings.flows.trace(flowId, frame.type, frame);
    if (frame.type === 'input-start' || frame.type === 'input-end') {
      this.#settings.flows.block(flowId, frame.type === 'input-start');
    } else if (dispatch.stream) this.#announcer.frame(dispatch, frame);
  }

  async #end(flowId: string, dispatch: Dispatch, result: SkillResult, durationMs: number): Promise<void> {
    const { flows } = this.#settings;
    await this.#announcer.answer(dispatch, result, durationMs);
    const { error, taskState } = result;
    flows.trace(flowId, 'end', { taskState, error, replyTopic: dispatch.message.reply?.topic });
    flows.finish(flowId, error);
    await this.#announcer.flow('completed', flows.get(flowId), dispatch);
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
