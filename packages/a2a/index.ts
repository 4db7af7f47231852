export type { AgentDescription, AgentExtension, AgentSkill } from './card/agent-card.ts';
export { type A2aClient, answerFrom, createA2aClient } from './client/client.ts';
export { isSigned } from './client/hmac.ts';
export type { RemoteAgent, RemoteCredentials } from './client/remote-agent.ts';
export { RemoteAgentError, type RemoteErrorCode } from './client/remote-error.ts';
export type { RemoteReply, RemoteState } from './client/remote-reply.ts';
export type { CallOptions, OutgoingMessage, RemoteCard, RemoteEvent } from './client/types.ts';
export type { ProtocolVersion } from './dialects/version.ts';
export type { TaskEngine } from './engine/engine.ts';
export type { ExecutionEvent, ExecutionRequest, Executor } from './engine/executor.ts';
export type { TaskObserver } from './engine/task-observer.ts';
export { toolCallMediaType } from './engine/tool-frames.ts';
export { A2aError, requireStored } from './errors/a2a-error.ts';
export type { A2aCredentials } from './http/credentials-guard.ts';
export type { Artifact, Message, Part, Task, TaskState, Usage } from './protocol/model.ts';
export type { PushDelivery } from './push/push-store.ts';
export type { Loaded } from './registry/credentials.ts';
export {
  type A2aDelegate,
  type CompatDelegate,
  type Delegate,
  loadDelegates,
} from './registry/delegates.ts';
export {
  type ExternalAgent,
  externalAgentSchema,
  externalAgentsSchema,
  toExternalAgents,
} from './registry/external-agents.ts';
export { targetsSchema, toTargets } from './registry/targets.ts';
export { type A2aServer, type A2aServerOptions, createA2aServer } from './server.ts';
