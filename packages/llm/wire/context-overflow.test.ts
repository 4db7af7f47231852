import { describe, expect, it } from 'vitest';
import { fromStatus } from '../error-translation.ts';
import { readErrorText } from './error-body.ts';

const said = (message: string, more: object = {}) => JSON.stringify({ error: { message, ...more } });

/** Bodies as the endpoints send them, with the window that they name. */
const overflows: [endpoint: string, status: number, body: string, contextTokens: number | undefined][] = [
  [
    'OpenAI',
    400,
    said(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
      { type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
    ),
    8192,
  ],
  [
    'OpenAI, newer',
    400,
    said(
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300011 tokens.',
      { code: 'context_length_exceeded' },
    ),
    272_000,
  ],
  [
    'OpenAI, without figures',
    400,
    said('Your input exceeds the context window of this model. Please adjust your input and try again.', {
      code: 'context_length_exceeded',
    }),
    undefined,
  ],
  [
    'Azure',
    400,
    said(
      "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (126000 in the messages, 4000 in the completion).",
      { code: 'context_length_exceeded' },
    ),
    128_000,
  ],
  [
    'vLLM 0.4',
    400,
    '{"object":"error","message":"This model\'s maximum context length is 4096 tokens. However, you requested 5012 tokens (4500 in the messages, 512 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}',
    4096,
  ],
  [
    'vLLM 0.8',
    400,
    '{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.","type":"BadRequestError","code":400}',
    4096,
  ],
  [
    'vLLM 0.12',
    400,
    said(
      "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
      { type: 'BadRequestError', code: 400 },
    ),
    4096,
  ],
  [
    'vLLM 0.15',
    400,
    said(
      "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens.",
    ),
    4096,
  ],
  [
    'SGLang',
    400,
    '{"object":"error","message":"The input (5000 tokens) is longer than the model\'s context length (4096 tokens).","type":"BadRequest","code":400}',
    4096,
  ],
  [
    'Gemini',
    400,
    '[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]',
    1_048_576,
  ],
  [
    'Vertex',
    400,
    said(
      'Unable to submit request because the input token count is 1200000 but model only supports up to 1048576. Reduce the input token count and try again.',
    ),
    1_048_576,
  ],
  [
    'Mistral',
    400,
    '{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}',
    32_768,
  ],
  [
    'LM Studio',
    400,
    '{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}',
    4096,
  ],
  [
    'LM Studio, newer',
    400,
    '{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}',
    undefined,
  ],
  ['Bedrock', 400, '{"message":"Input is too long for requested model."}', undefined],
  [
    'Bedrock, tokens',
    400,
    '{"message":"The model returned the following errors: input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"}',
    200_000,
  ],
  [
    'Anthropic',
    400,
    '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}',
    200_000,
  ],
  [
    'llama.cpp',
    400,
    said('the request exceeds the available context size, try increasing it', {
      code: 400,
      type: 'exceed_context_size_error',
      n_prompt_tokens: 14_429,
      n_ctx: 8192,
    }),
    8192,
  ],
  [
    'llama.cpp, as 500',
    500,
    said(
      'the request exceeds the available context size. try increasing the context size or enable context shift',
      { code: 500, type: 'server_error' },
    ),
    undefined,
  ],
  ['Ollama', 400, '{"error":"prompt too long; exceeded max context length by 812 tokens"}', undefined],
  [
    'LiteLLM',
    400,
    said(
      "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length is 16385 tokens. However, your messages resulted in 17000 tokens.",
      { code: '400' },
    ),
    16_385,
  ],
  [
    'OpenRouter',
    400,
    said(
      'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of text input, 1000 in the output). Please reduce the length of either one, or use the "middle-out" transform.',
      { code: 400 },
    ),
    131_072,
  ],
  [
    'OpenRouter, by its provider',
    400,
    said('Provider returned error', {
      code: 400,
      metadata: { raw: '{"error":{"message":"prompt is too long: 205000 tokens > 200000 maximum"}}' },
    }),
    200_000,
  ],
  [
    'Groq',
    400,
    said('Please reduce the length of the messages or completion.', {
      code: 'context_length_exceeded',
      param: 'messages',
    }),
    undefined,
  ],
  [
    'Cerebras',
    400,
    '{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","code":"context_length_exceeded"}',
    8192,
  ],
  [
    'Together and TGI',
    422,
    '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`","error_type":"validation"}',
    8193,
  ],
  [
    'TGI',
    422,
    '{"error":"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000","error_type":"validation"}',
    4096,
  ],
  [
    'xAI',
    400,
    '{"code":"invalid-argument","error":"This model\'s maximum prompt length is 131072 but the request contains 140000 tokens."}',
    131_072,
  ],
  ['Fireworks', 400, said('The prompt is too long: 50000, model maximum context length: 32768'), 32_768],
  [
    'Moonshot',
    400,
    said('Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)'),
    8192,
  ],
  [
    'Cohere',
    400,
    '{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."}',
    4081,
  ],
  ['Qwen', 400, said('Range of input length should be [1, 30720]'), 30_720],
  ['MiniMax', 400, said('invalid params, context window exceeds limit (2013)'), undefined],
  ['TabbyAPI', 400, '{"detail":"Prompt length 5000 is greater than max_seq_len 4096"}', 4096],
  [
    'GitHub Models',
    413,
    said('Request body too large for gpt-4o model. Max size: 8000 tokens.', { code: 'tokens_limit_reached' }),
    8000,
  ],
  ['llama-cpp-python', 500, said('Requested tokens (516) exceed context window of 512'), 512],
];

describe('context overflow', () => {
  it.each(overflows)('is recognised as %s says it', (_endpoint, status, body, contextTokens) => {
    const error = fromStatus(status, readErrorText(body), {}, {});
    expect(error).toMatchObject({ code: 'context-too-long', contextTokens });
  });

  it.each([
    [400, 'max_tokens must be at least 1', 'bad-request'],
    [400, 'Invalid image: it exceeds the maximum size of 20 MB', 'bad-request'],
    [400, 'The name of the function is too long', 'bad-request'],
    [429, 'Rate limit reached: too many tokens per minute. Limit 6000', 'rate-limited'],
    [500, 'CUDA out of memory', 'server-error'],
    [
      400,
      "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
      'bad-request',
    ],
  ])('is not seen in %i %s', (status, message, code) => {
    expect(fromStatus(status, readErrorText(said(message)), {}, {}).code).toBe(code);
  });
});
