import { StorageError } from '@trunkline/storage';
import type { Logger } from '../protocol/logger.ts';
import type { ExecutionRequest, Executor } from './executor.ts';
import type { LiveTask } from './live-task.ts';
import type { Turn } from './turn.ts';

/** Lets the executor work on the task until the turn ends or its controller is taken away. */
export async function runTurn(
  live: LiveTask,
  turn: Turn,
  request: ExecutionRequest,
  { executor, logger }: { executor: Executor; logger: Logger },
): Promise<void> {
  const { controller } = live;
  if (controller === undefined) return;
  const isCurrent = () => live.controller === controller;
  try {
    for await (const event of executor.execute(request, controller.signal)) {
      if (!isCurrent() || turn.apply(event)) return;
    }
    if (isCurrent()) turn.complete();
  } catch (error) {
    if (!isCurrent()) return;
    logger.error({ err: error, taskId: live.id }, 'the executor of a task failed');
    turn.fail(reasonFor(error));
  }
}

/** What the caller is told of a failure that the executor did not foresee; the log has the rest. */
function reasonFor(error: unknown): string {
  return error instanceof StorageError && error.code === 'disk_full'
    ? 'The agent failed: its disk is full. Make room, then send the message again'
    : 'The agent failed: the server log has the details';
}
