import { randomBytes } from 'node:crypto';
import type { Logger } from '@trunkline/config';
import { derivedId } from '../core/derived-id.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { RemoteTask, SkillExecutor } from './executor.ts';
import type { Dispatch } from './request.ts';
import type { TaskStore } from './task-store.ts';

/** A skill under way that another service may work on. */
export interface TrackedRun {
  flowId: string;
  dispatch: Dispatch;
  executor: SkillExecutor;
  startedAt: number;
  /** What a callback of the other service must bring; made when it is first needed. */
  token?: string;
  /** The task of another service that works on it. */
  task?: RemoteTask;
}

export interface TaskTrackerSettings {
  tasks: TaskStore;
  flows: FlowStore;
  /** Where other services tell that a task is over; undefined when they cannot reach this one. */
  callbackUrl: (id: string) => string | undefined;
  logger: Logger;
}

/** Stores the tasks of other services that runs wait for, so that a restart does not lose them. */
export class TaskTracker {
  readonly #settings: TaskTrackerSettings;

  constructor(settings: TaskTrackerSettings) {
    this.#settings = settings;
  }

  callbackFor(run: TrackedRun): { url: string; token: string } | undefined {
    const url = this.#settings.callbackUrl(trackId(run.dispatch));
    return url === undefined ? undefined : { url, token: tokenOf(run) };
  }

  /** A task that cannot be stored (the disk is full) is followed on its connection alone, and asked for again when that ends early. */
  tryTrack(run: TrackedRun, task: RemoteTask): void {
    try {
      this.track(run, task);
    } catch (error) {
      const { executor, dispatch } = run;
      const details = { err: error, agent: executor.agent, message: dispatch.message.id };
      this.#settings.logger.warn(
        details,
        'failed to store the task of another service; it is followed on the line alone',
      );
    }
  }

  track(run: TrackedRun, task: RemoteTask): void {
    if (run.task !== undefined) return;
    const { flowId, dispatch, executor, startedAt } = run;
    const { message } = dispatch;
    const place = { id: trackId(dispatch), messageId: message.id, flowId, message, agent: executor.agent };
    const { taskId, contextId } = task;
    this.#settings.tasks.add({ ...place, taskId, contextId, token: tokenOf(run), startedAt });
    run.task = task;
    this.#settings.flows.trace(flowId, 'remote-task', { agent: executor.agent, taskId });
  }

  /** The run has its result. */
  end({ task, dispatch }: TrackedRun): void {
    if (task !== undefined) this.#settings.tasks.remove(trackId(dispatch));
  }
}

function trackId({ message }: Dispatch): string {
  return derivedId(message.id, 'task');
}

function tokenOf(run: TrackedRun): string {
  run.token ??= randomBytes(24).toString('base64url');
  return run.token;
}
