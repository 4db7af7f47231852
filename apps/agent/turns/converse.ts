import { requireStored, type Task, type TaskEngine } from '@trunkline/a2a';
import type { Principal } from '@trunkline/identity';

/** One message of a conversation, as a task; a task of it that waits for an answer gets the message as its answer. */
export async function converse(
  engine: TaskEngine,
  contextId: string,
  text: string,
  principal: Principal,
  metadata: Record<string, unknown> = {},
): Promise<Task> {
  const taskId = parkedTask(engine, contextId);
  const { live, stored } = engine.start({
    message: {
      messageId: crypto.randomUUID(),
      role: 'user',
      parts: [{ type: 'text', text }],
      contextId,
      ...(taskId !== undefined && { taskId }),
    },
    metadata,
    principal,
    strict: false,
  });
  await requireStored(stored);
  await live.settled();
  return live.snapshot();
}

/** The task of a conversation that waits for an answer. */
function parkedTask(engine: TaskEngine, contextId: string): string | undefined {
  return engine.list({ contextId, state: 'input-required', pageSize: 1 }).tasks[0]?.id;
}
