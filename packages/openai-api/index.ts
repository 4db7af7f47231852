export {
  type Answer,
  type CompletionCall,
  type ModelParameter,
  modelParameters,
  type OpenAiApi,
  samplingParameters,
} from './api.ts';
export { type AnswerEvent, CallNotes, type FinishReason, type ToolCall } from './completion.ts';
export { openAiErrorBody, openAiErrors } from './errors.ts';
export {
  type CompletionRequest,
  type ContentPart,
  callSettings,
  contentParts,
  RefusedParameters,
  type RequestMessage,
  systemText,
  textOf,
} from './request.ts';
export { Responses } from './responses/responses.ts';
export { mountOpenAiApi } from './routes.ts';
