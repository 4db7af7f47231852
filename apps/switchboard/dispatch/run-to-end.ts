import { setTimeout as delay } from 'node:timers/promises';
import type { SkillContext, SkillExecutor, SkillRequest, SkillResult } from './executor.ts';

/** How often a task of another service is asked after by somebody who waits for it. */
const pauseMs = 5000;

/** Runs a skill and stays with it when it goes on elsewhere, for those who need the answer to go on themselves. */
export async function runToEnd(
  executor: SkillExecutor,
  request: SkillRequest,
  context: SkillContext,
): Promise<SkillResult> {
  let result = await executor.execute(request, context);
  while (result.taskState === 'working' && result.taskId !== undefined && executor.resume !== undefined) {
    await delay(pauseMs, undefined, { signal: context.signal });
    result = await executor.resume(request, { ...result, taskId: result.taskId }, context);
  }
  return result;
}
