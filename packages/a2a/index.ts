export type { AgentDescription, AgentExtension, AgentSkill } from './card/agent-card.ts';
export { isSigned } from './client/agent-fetch.ts';
export { answerFrom } from './client/client.ts';
export type {
  A2aClient,
  CallOptions,
  OutgoingMessage,
  PushConfig,
  PushTarget,
  RemoteAgent,
  RemoteCard,
  RemoteCredentials,
  RemoteEvent,
  RemoteReply,
  RemoteState,
  TaskList,
  TaskQuery,
} from './client/remote-agent.ts';
export { RemoteAgentError, type RemoteErrorCode } from './client/remote-agent.ts';
export { createA2aClient } from './client/service-client.ts';
export type { TaskEngine } from './engine/engine.ts';
export type {
  ExecutionEvent,
  ExecutionRequest,
  Executor,
  RecoveredTurn,
  TaskObserver,
} from './engine/executor.ts';
export type { LiveTask } from './engine/live-task.ts';
export type { SendCommand } from './engine/send-command.ts';
export type { SharedTask } from './engine/shared-tasks.ts';
export { reasoningMediaType, toolCallMediaType } from './engine/turn.ts';
export { accessCheckMs, lostAccess, type TaskAccess, type VisibleTasks } from './engine/visible-tasks.ts';
export { A2aError, invalidParams, requireStored } from './errors/a2a-error.ts';
export { type GrpcSettings, withGrpc } from './grpc/start-grpc.ts';
export type { A2aCredentials } from './http/credentials-guard.ts';
export type { Artifact, Message, Part, ProtocolVersion, Task, TaskState, Usage } from './protocol/model.ts';
export { textOf } from './protocol/model.ts';
export { citationsMediaType, sourceLines, sourcesIn } from './protocol/sources.ts';
export type { PushDelivery, SharedWebhook } from './push/push-store.ts';
export type { Loaded } from './registry/external-agents.ts';
export {
  type A2aDelegate,
  type CardTrust,
  type CompatDelegate,
  cardTrust,
  cardTrustFields,
  type Delegate,
  type ExternalAgent,
  externalAgentSchema,
  externalAgentsSchema,
  loadDelegates,
  targetsSchema,
  toExternalAgents,
  toTargets,
} from './registry/external-agents.ts';
export { type A2aServer, type A2aServerOptions, createA2aServer } from './server.ts';
