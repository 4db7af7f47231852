import { openAiErrors } from './errors.ts';
import type { CompletionRequest } from './request.ts';

/** Parameters that a service can pass on to its model. */
export const modelParameters = [
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'reasoning_effort',
  'verbosity',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
] as const;

export type ModelParameter = (typeof modelParameters)[number];

/** Those that shape each call of a model, and neither tools nor the form of the answer. */
export const samplingParameters: readonly ModelParameter[] = modelParameters.filter(
  (name) => !/tool|response_format/.test(name),
);

/** No service gives what these ask for. */
const neverTaken = [
  'logprobs',
  'top_logprobs',
  'functions',
  'function_call',
  'modalities',
  'audio',
  'prediction',
  'web_search_options',
];

/** Chat programs send these unasked, so they are not refused: the answer's header names them. */
const oftenSent: readonly string[] = [
  'temperature',
  'top_p',
  'max_tokens',
  'tools',
  'tool_choice',
  'response_format',
];

/** Values that ask for nothing but the usual. */
const usual: Record<string, string> = {
  temperature: '1',
  top_p: '1',
  frequency_penalty: '0',
  presence_penalty: '0',
  logit_bias: '{}',
  stop: '[]',
  tools: '[]',
  parallel_tool_calls: 'true',
  response_format: '{"type":"text"}',
  logprobs: 'false',
  top_logprobs: '0',
  functions: '[]',
  modalities: '["text"]',
};

/** The parameters of a request that have no effect here, for a header. Refuses those whose absence would mislead. */
export function ignoredParameters(
  request: CompletionRequest,
  passedOn: readonly ModelParameter[],
  nameOf = (parameter: string) => parameter,
): string[] {
  const asked = [...modelParameters, ...neverTaken].filter((name) => hasEffect(request, name));
  const dropped = asked.filter((name) => !(passedOn as readonly string[]).includes(name));
  const refused = dropped.find((name) => !oftenSent.includes(name));
  if (refused === undefined) return dropped.map(nameOf);
  const param = nameOf(refused);
  const message = `${param} is not supported here. Leave it out.`;
  throw openAiErrors.invalid_request_error({ message }, { details: { param } });
}

function hasEffect(request: CompletionRequest, name: string): boolean {
  const value = request[name];
  if (value === undefined || value === null) return false;
  if (name === 'tool_choice') return value !== 'auto' && value !== 'none';
  return JSON.stringify(value) !== usual[name];
}
