import { requireStored, type Task, type TaskEngine, textOf } from '@trunkline/a2a';
import type { Principal } from '@trunkline/identity';
import type { InboundAnswer } from '../plugins/open-plugins.ts';

export interface Said {
  contextId: string;
  text: string;
  principal: Principal;
  metadata?: Record<string, unknown>;
  /** Files at addresses, which are fetched like those of any message. */
  files?: readonly { uri: string; name: string; mediaType?: string }[] | undefined;
}

/** Whether a message that names no task answers the waiting one. */
export type MayAnswer = (taskId: string, said: Said) => boolean;

/**
 * One message of a conversation, as a task; a task of it that waits for an answer gets the message as its answer. While
 * an approval or somebody else's question waits, others can go on.
 */
export async function converse(engine: TaskEngine, said: Said, mayAnswer: MayAnswer): Promise<Task> {
  const { contextId, text, principal, metadata = {}, files = [] } = said;
  const taskId = parkedTasks(engine, contextId).find((id) => mayAnswer(id, said));
  const { live, stored } = engine.start({
    message: {
      messageId: crypto.randomUUID(),
      role: 'user',
      parts: [{ type: 'text', text }, ...files.map((file) => ({ type: 'file' as const, ...file }))],
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

const maxParked = 20;

/** The tasks of a conversation that wait for an answer, the newest first. */
function parkedTasks(engine: TaskEngine, contextId: string): string[] {
  return engine.list({ contextId, state: 'input-required', pageSize: maxParked }).tasks.map(({ id }) => id);
}

/** What a task has to say as it stands: its answer, its question, or why it failed. */
export function taskText(task: Task): string {
  const status = task.statusMessage === undefined ? '' : textOf(task.statusMessage.parts);
  if (task.state !== 'completed') return status;
  const texts = task.artifacts.map(({ parts }) => textOf(parts)).filter((text) => text !== '');
  return texts.join('\n') || status;
}

/** The answer of a task with the files that it made; those that are too large to stand in it are links. */
export function taskAnswer(task: Task): InboundAnswer {
  const parts = task.artifacts.flatMap((artifact) => artifact.parts).filter((part) => part.type === 'file');
  const links = parts.flatMap(({ name = 'file', uri }) => (uri === undefined ? [] : [`${name}: ${uri}`]));
  const files = parts.flatMap(({ name = 'file', mediaType = 'application/octet-stream', bytes }) =>
    bytes === undefined ? [] : [{ name, mediaType, bytes: Buffer.from(bytes, 'base64') }],
  );
  return { text: [taskText(task), ...links].join('\n'), files };
}
