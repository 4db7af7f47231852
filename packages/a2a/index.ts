export type { AgentDescription, AgentExtension, AgentSkill } from './card/agent-card.ts';
export type { ProtocolVersion } from './dialects/version.ts';
export type { TaskEngine, TaskObserver } from './engine/engine.ts';
export type { ExecutionEvent, ExecutionRequest, Executor } from './engine/executor.ts';
export type { A2aCredentials } from './http/credentials-guard.ts';
export type { Clock } from './protocol/clock.ts';
export type { Artifact, Message, Part, Task, TaskState, Usage } from './protocol/model.ts';
export type { PushDelivery } from './push/push-store.ts';
export { type A2aServer, type A2aServerOptions, createA2aServer } from './server.ts';
