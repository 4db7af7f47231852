import type { Artifact, Message, Part, TaskState } from '../protocol/model.ts';
import { textOf } from '../protocol/parts.ts';

/** States of other agents, whose tasks may be `submitted` first. */
export type RemoteState = TaskState | 'submitted' | 'unknown';

/** What another agent answered. */
export interface RemoteReply {
  /** Missing when the agent answered with a plain message. */
  taskId?: string;
  contextId?: string;
  state: RemoteState;
  /** The answer: the text of the first artifact that has any, else what stands in the status. */
  text: string;
  artifacts: readonly Artifact[];
  /** What the agent says about its state: the question, or why it failed. */
  statusText: string;
}

export function replyOfTask(task: {
  id: string;
  contextId: string;
  state: RemoteState;
  artifacts: readonly Artifact[];
  statusMessage: Message | undefined;
}): RemoteReply {
  const statusText = task.statusMessage === undefined ? '' : textOf(task.statusMessage.parts);
  return {
    taskId: task.id,
    contextId: task.contextId,
    state: task.state,
    artifacts: task.artifacts,
    text: answerOf(task.artifacts) ?? statusText,
    statusText,
  };
}

export function replyOfMessage(parts: readonly Part[], contextId: string | undefined): RemoteReply {
  const text = textOf(parts);
  return {
    ...(contextId !== undefined && { contextId }),
    state: 'completed',
    artifacts: [{ artifactId: 'message', parts }],
    text,
    statusText: '',
  };
}

/** The first text part of the first artifact that has one. */
export function answerOf(artifacts: readonly Artifact[]): string | undefined {
  for (const { parts } of artifacts) {
    const part = parts.find((candidate) => candidate.type === 'text');
    if (part?.type === 'text') return part.text;
  }
  return undefined;
}
