export {
  type Answer,
  type CompletionCall,
  type ModelParameter,
  modelParameters,
  type OpenAiApi,
  samplingParameters,
} from './api.ts';
export { CallNotes } from './call-notes.ts';
export { callSettings, RefusedParameters } from './call-settings.ts';
export type { AnswerEvent, FinishReason, TokenUsage, ToolCall } from './completion.ts';
export { openAiErrorBody, openAiErrors } from './errors.ts';
export {
  type CompletionRequest,
  type ContentPart,
  contentParts,
  type RequestMessage,
  systemText,
  textOf,
} from './request.ts';
export { Responses } from './responses/responses.ts';
export { mountOpenAiApi } from './routes.ts';
