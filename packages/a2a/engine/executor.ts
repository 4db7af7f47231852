import type { Principal } from '@trunkline/identity';
import type { Message, Metadata, Part, Question, Usage } from '../protocol/model.ts';

/** One turn of an agent, asked for by a message. */
export interface ExecutionRequest {
  task: { id: string; contextId: string };
  message: Message;
  /** All text of the message. */
  text: string;
  /** Of the message and of the request around it; the request wins. */
  metadata: Metadata;
  /** On whose behalf the message came. */
  principal: Principal;
  /** What was said in this task before the message. */
  history: readonly Message[];
  /** Set when the message answers what the agent asked. */
  resume?: Question;
}

/** What an agent reports while it works. A turn ends with the first of the last five, or when the events end. */
export type ExecutionEvent =
  | { type: 'progress'; text: string }
  | { type: 'text-delta'; text: string }
  | { type: 'tool-start'; toolCallId: string; name: string; args?: unknown }
  | { type: 'tool-end'; toolCallId: string; name: string; result?: unknown; failed?: boolean }
  | {
      type: 'artifact';
      artifactId?: string;
      name?: string;
      parts: Part[];
      append?: boolean;
      lastChunk?: boolean;
    }
  | { type: 'usage'; usage: Usage }
  /** Parks the task until a message answers. With `authorization` it waits for credentials instead. */
  | { type: 'input-required'; question: string; schema?: unknown; authorization?: boolean }
  /** `text` is the whole answer, when it was not given as deltas; `message` stands in the status. */
  | { type: 'completed'; text?: string; message?: string }
  | { type: 'failed'; message: string }
  | { type: 'rejected'; message: string }
  /** A plain reply for which no task is kept: only as the very first event. */
  | { type: 'message'; parts: Part[] };

/** What does the work. The signal is aborted when the task is cancelled or the server stops. */
export interface Executor {
  execute(request: ExecutionRequest, signal: AbortSignal): AsyncIterable<ExecutionEvent>;
}
