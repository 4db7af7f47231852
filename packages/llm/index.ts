export { repairArguments } from './answers/argument-repair.ts';
export { parseRelaxedJson } from './answers/relaxed-json.ts';
export { withCallSettings } from './call-settings.ts';
export type { ModelCheck } from './check.ts';
export { contextWindowOf, learnContextWindow } from './context-window.ts';
export { hasPlainNames, quoteDescription, quoteSchema } from './descriptions.ts';
export { parseRetryAfter, toModelError } from './error-translation.ts';
export { createLiveGateway, createModelGateway } from './gateway.ts';
export type { ModelDescription, ModelGateway, ModelGatewayOptions } from './gateway-options.ts';
export type { ModelCall } from './meter.ts';
export type { ModelErrorCode } from './model-error.ts';
export { ModelError } from './model-error.ts';
export type { EndpointKind } from './profiles/endpoint-kind.ts';
export { endpointKind, isLocalAddress } from './profiles/endpoint-kind.ts';
export type { ModelRole, ProfileChange, ProfileSection, RoleModel } from './profiles/models-file.ts';
export { ModelsFile, modelRoles, profileChange } from './profiles/models-file.ts';
export type { ModelPrice, PriceTable, TokenCounts } from './profiles/prices.ts';
export { costOf, priceOf } from './profiles/prices.ts';
export type { ModelProbe, ProbeFinding } from './profiles/probe.ts';
export { isFree, probeModel } from './profiles/probe.ts';
export type { ModelProfile } from './profiles/profile.ts';
export { learn, originOf, profileOf } from './profiles/profile.ts';
export type { ModelWait } from './retry.ts';
export { listenForWaits, tellNote } from './retry.ts';
export type { SharedModelOptions } from './roles.ts';
export { gatewaySettings } from './roles.ts';
export type {
  AnsweredInput,
  AttachedFile,
  CallSubject,
  Effect,
  PausingTool,
  RunningTool,
  Tool,
  ToolContext,
} from './tool.ts';
export { defineTool, effects, InputRequired, isReadOnly, urlSubject } from './tool.ts';
export type { Tracing, TracingOptions } from './tracing.ts';
export { createTracing, isTraced } from './tracing.ts';
