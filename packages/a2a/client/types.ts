import type { Principal } from '@trunkline/identity';
import type { Artifact, Metadata } from '../protocol/model.ts';
import type { RemoteReply, RemoteState } from './remote-reply.ts';

export interface OutgoingMessage {
  text: string;
  /** Continues a conversation. */
  contextId?: string;
  /** Answers a task that waits. */
  taskId?: string;
  messageId?: string;
  metadata?: Metadata;
  /** Where the agent may bring an answer that comes too late for the call. */
  push?: { url: string; token: string };
}

export interface CallOptions {
  signal?: AbortSignal;
  /** For the whole call; of a stream, between two of its events. Default 60 seconds. */
  timeoutMs?: number;
  /** On whose behalf one of our own services is asked; anonymous when not given. Strangers are not told. */
  principal?: Principal | undefined;
}

/** What an agent tells while it works. The last event is always `task-end`. */
export type RemoteEvent =
  | { type: 'task-start'; taskId: string; contextId: string }
  | { type: 'status'; state: RemoteState; text: string }
  | { type: 'text-delta'; text: string }
  | { type: 'artifact'; artifact: Artifact }
  | { type: 'task-end'; reply: RemoteReply };

/** What the card of an agent says, as far as we use it. */
export interface RemoteCard {
  name: string;
  description: string;
  streaming: boolean;
  pushNotifications: boolean;
  skills: { id: string; name: string; description: string }[];
}
