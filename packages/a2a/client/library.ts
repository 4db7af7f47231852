// What the package @trunkline/a2a-client exports: the client alone. packages/ui/build/client.ts builds it.
import { createA2aClient as create } from './client.ts';
import type { A2aClient } from './remote-agent.ts';

export type { Artifact, Metadata, Part, TaskState } from '../protocol/model.ts';
export {
  type A2aClient,
  type CallOptions,
  type OutgoingMessage,
  type PushConfig,
  type PushTarget,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteCard,
  type RemoteCredentials,
  type RemoteErrorCode,
  type RemoteEvent,
  type RemoteReply,
  type RemoteState,
  type TaskList,
  type TaskQuery,
} from './remote-agent.ts';

/** One client serves any number of agents and keeps their cards for ten minutes. */
export function createA2aClient(): A2aClient {
  return create();
}
