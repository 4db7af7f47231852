import type { EndpointError } from './error-body.ts';

/**
 * How endpoints say that the prompt is too long, gathered from their sources and from reports of their users: OpenAI,
 * Azure, vLLM, SGLang, TGI and Together, llama.cpp, Ollama, LM Studio, TabbyAPI, node-llama-cpp, TensorRT-LLM, Gemini and
 * Vertex, Mistral, Anthropic, Bedrock, Cohere, xAI, Groq and Cerebras, Moonshot, Qwen, Zhipu, MiniMax, Fireworks,
 * OpenRouter, LiteLLM, GitHub Models.
 */
const overflowWords = [
  /context.?(length|window|size|limit).{0,40}(exceed|reached|too small|is only|is not enough)/i,
  /(exceed|longer than|greater than|larger than|too (large|big|long) for).{0,60}(context|max_seq_len|max_model_len|maximum model length|kv size)/i,
  /(maximum|max) (context|prompt|sequence|input|model) (length|size)/i,
  /context (the )?overflow/i,
  /(prompt|input|request|conversation|messages?) (is|are) too (long|large)/i,
  /prompt (too long|exceeds max)/i,
  /too many (total )?(input )?tokens|too many total text bytes/i,
  /(input|prompt) token count.{0,40}(exceeds|but)/i,
  /input tokens exceed/i,
  /input length.{0,40}(exceed|should be)/i,
  /(exceed|over)\w* (the )?(model )?(token|tokens) limit/i,
  /`?inputs`? (tokens \+|must have less than)/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /request body too large for .{0,60}max size: \d+ tokens/i,
  /not enough context|exceeds the context/i,
  /max_tokens must be at least 1, got -/i,
];

const overflowCodes =
  /context_?(length|window|size)|tokens_limit_reached|string_above_max_length|request_too_large/i;

/** Where a sentence names the window; the first match counts. */
const windowWords = [
  /(?:context|prompt|sequence|model|input) (?:length|window|size)(?: of (?:only )?| is (?:only )?|: | ?\()(\d[\d,_]*)/i,
  /(?:with|of) (\d[\d,_]*) maximum context/i,
  /context (?:length|window|size|limit):? .{0,40}> ?(\d[\d,_]*)/i,
  /\d tokens > (\d[\d,_]*) maximum/i,
  /maximum number of tokens allowed \((\d[\d,_]*)\)/i,
  /only supports up to (\d[\d,_]*)/i,
  /(?:configured|token) limit(?: of|:) (\d[\d,_]*)/i,
  /must be <= (\d[\d,_]*)/i,
  /must have less than (\d[\d,_]*) tokens/i,
  /(?:max_seq_len|max_model_len)\D{0,4}(\d[\d,_]*)/i,
  /while limit is (\d[\d,_]*)/i,
  /exceeds the limit of (\d[\d,_]*)/i,
  /cannot exceed (\d[\d,_]*)/i,
  /max size: (\d[\d,_]*) tokens/i,
  /should be \[\d+, ?(\d[\d,_]*)\]/i,
  /context window of (\d[\d,_]*)/i,
];

/** Whether an endpoint's error says that the prompt does not fit into the model's context window. */
export function isContextOverflow({ message, type, code }: EndpointError): boolean {
  if (overflowCodes.test(code) || overflowCodes.test(type)) return true;
  return overflowWords.some((words) => words.test(message));
}

/** The size of the window in tokens, where the error names it. */
export function namedWindow({ message, contextTokens }: EndpointError): number | undefined {
  if (contextTokens !== undefined) return contextTokens;
  for (const words of windowWords) {
    const digits = words.exec(message)?.[1]?.replace(/[,_]/g, '');
    if (digits !== undefined && Number(digits) > 0) return Number(digits);
  }
  return undefined;
}
