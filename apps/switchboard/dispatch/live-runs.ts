import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { maySee, type Principal } from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import { ownerOfMessage, principalOf } from '../core/messages.ts';
import { canceledResult, type Ending, SkillCanceledError, type SkillResult } from './executor.ts';
import type { ExecutorRegistry } from './registry.ts';
import { readDispatch } from './request.ts';
import type { TaskStore, TrackedTask } from './task-store.ts';

interface LiveRunSettings {
  bus: Bus;
  registry: Pick<ExecutorRegistry, 'agent'>;
  tasks: TaskStore;
  /** Ends the flow of a remote task that no run follows. */
  finish(task: TrackedTask, result: SkillResult): Promise<void>;
  logger: Logger;
}

interface LiveRun {
  message: Message;
  ending: Ending;
}

const cancelTopic = 'agent.skill.cancel';

/** Orders for requests that no dispatcher has begun yet: they wait for their agent, or have just been published. */
const mostOrders = 1000;

/** Cancels what was asked for under a correlation, at whichever switchboard runs it. */
export async function cancelSkill(bus: Bus, correlationId: string, by: Principal): Promise<void> {
  await bus.publish({ topic: cancelTopic, payload: {}, correlationId, principal: by });
}

/** The runs of this process. Whoever may see a request may cancel it. */
export function createLiveRuns({ bus, registry, tasks, finish, logger }: LiveRunSettings) {
  /** By the id of their message. */
  const runs = new Map<string, LiveRun>();
  const orders = new BoundedMap<string, Message>(mostOrders);

  async function start(): Promise<void> {
    await bus.subscribe(cancelTopic, cancel, { plugin: 'dispatcher' });
  }

  function add(message: Message, ending: Ending): void {
    runs.set(message.id, { message, ending });
    const order = orders.get(message.correlationId);
    // What is asked for under the same correlation later is not meant.
    if (order !== undefined && message.timestamp <= order.timestamp && concerns(order, message))
      ending.cancel(principalOf(order));
  }

  function remove({ id }: Message): void {
    runs.delete(id);
  }

  function has(messageId: string): boolean {
    return runs.has(messageId);
  }

  async function cancel(order: Message): Promise<void> {
    orders.set(order.correlationId, order);
    for (const { message, ending } of runs.values())
      if (concerns(order, message)) ending.cancel(principalOf(order));
    const followed = tasks.list().filter(({ message }) => !has(message.id) && concerns(order, message));
    for (const task of followed) await stop(task, new SkillCanceledError(principalOf(order)));
  }

  /** The flow ends first: a poll that finds the task cancelled does not know by whom. */
  async function stop(task: TrackedTask, why: SkillCanceledError): Promise<void> {
    await finish(task, canceledResult(why));
    tasks.remove(task.id);
    const { agent, taskId, message } = task;
    try {
      await registry.agent(agent)?.cancel?.(readDispatch(message), { taskId });
    } catch (error) {
      logger.warn({ err: error, agent, task: taskId }, 'failed to cancel the task of another service');
    }
  }

  return { start, add, remove, has };
}

export type LiveRuns = ReturnType<typeof createLiveRuns>;

function concerns(order: Message, request: Message): boolean {
  return request.correlationId === order.correlationId && maySee(principalOf(order), ownerOfMessage(request));
}
