import { requireStored, sourcesIn, type Task, type TaskEngine, textOf } from '@trunkline/a2a';
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
export async function converse(engine: TaskEngine, said: Said, mayAnswer: MayAnswer): Promise<Conversed> {
  const { contextId, text, principal, metadata = {}, files = [] } = said;
  const taskId = parkedTasks(engine, contextId).find((id) => mayAnswer(id, said));
  const known = knownArtifacts(engine, taskId);
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
  return { task: live.snapshot(), known };
}

/** The task as it stands, and the artifacts that it came with when it asked what the message answers. */
export interface Conversed {
  task: Task;
  known: ReadonlySet<string>;
}

export function knownArtifacts(engine: TaskEngine, taskId: string | undefined): ReadonlySet<string> {
  const artifacts = taskId === undefined ? [] : (engine.peek(taskId)?.artifacts ?? []);
  return new Set(artifacts.map(({ artifactId }) => artifactId));
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

/** The answer of a task with the files that it made since; those that are too large to stand in it are links. */
export function taskAnswer(conversed: Conversed): InboundAnswer {
  const parts = filesSince(conversed);
  const links = parts.flatMap(({ name = 'file', uri }) => (uri === undefined ? [] : [`${name}: ${uri}`]));
  const files = parts.flatMap(({ name = 'file', mediaType = 'application/octet-stream', bytes }) =>
    bytes === undefined ? [] : [{ name, mediaType, bytes: Buffer.from(bytes, 'base64') }],
  );
  return { text: [citedText(conversed), ...links].join('\n'), files };
}

/** The text of a task with the pages that it is drawn from. */
export function citedText(conversed: Conversed): string {
  return [taskText(conversed.task), sourcesIn(partsSince(conversed))]
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The files that a task made since it asked what the message answers. */
export function filesSince(conversed: Conversed) {
  return partsSince(conversed).filter((part) => part.type === 'file');
}

function partsSince({ task, known }: Conversed) {
  return task.artifacts
    .filter(({ artifactId }) => !known.has(artifactId))
    .flatMap((artifact) => artifact.parts);
}
