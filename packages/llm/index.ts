export { repairArguments } from './answers/argument-repair.ts';
export { parseRelaxedJson } from './answers/relaxed-json.ts';
export type { ModelCheck } from './check.ts';
export { contextWindowOf, learnContextWindow } from './context-window.ts';
export { demoNotice } from './demo/reply.ts';
export { foreignDescription, hasPlainNames, quoteDescription, quoteSchema } from './descriptions.ts';
export { parseRetryAfter, toModelError } from './error-translation.ts';
export { estimateTokens } from './estimate.ts';
export { createLiveGateway, createModelGateway } from './gateway.ts';
export type { ModelGateway, ModelGatewayOptions } from './gateway-options.ts';
export { addressSubject, guessSubject } from './guess-subject.ts';
export type { ModelCall } from './meter.ts';
export {
  type CallEnd,
  type CallPart,
  callModel,
  plainPrompt,
  type SaidCall,
  type SaidPart,
} from './model-call.ts';
export { isRetryable, ModelError, type ModelErrorCode } from './model-error.ts';
export { isLocalAddress } from './profiles/endpoint-kind.ts';
export {
  keptFacts,
  ModelsFile,
  modelRoles,
  type ProfileChange,
  type ProfileSection,
  profileChange,
} from './profiles/models-file.ts';
export { costOf, type ModelPrice, priceOf, type TokenCounts } from './profiles/prices.ts';
export { isFree, type ModelProbe, probeModel } from './profiles/probe.ts';
export { answerLimitOf, originOf, profileOf, silenceLimitMs, usualSilenceMs } from './profiles/profile.ts';
export { listenForWaits, type ModelWait } from './retry.ts';
export { gatewaySettings } from './roles.ts';
export {
  type AnsweredInput,
  type AttachedFile,
  type CallSubject,
  defineTool,
  type Effect,
  effects,
  type ForeignDescription,
  handOnFiles,
  InputRequired,
  type Interruption,
  inputFromSchema,
  inputOfSchema,
  interruptionOf,
  interruptions,
  isReadOnly,
  type PausingTool,
  plainMediaType,
  type RunningTool,
  schemaOfInput,
  type Tool,
  type ToolContext,
  urlSubject,
} from './tool.ts';
export { createTracing, isTraced } from './tracing.ts';
export { withCallSettings } from './wire/request.ts';
