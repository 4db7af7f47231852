import type { JSONObject, LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider';
import { isFields } from './error-body.ts';

/** The token counts of an answer, under the names that the endpoints give them; undefined where none was given. */
export function usageOf(usage: unknown): LanguageModelV4Usage {
  const given = isFields(usage) ? usage : {};
  const input = count(given, 'prompt_tokens', 'input_tokens');
  const output = count(given, 'completion_tokens', 'output_tokens');
  const inputDetails = detailsOf(given, 'prompt_tokens_details', 'input_tokens_details');
  const outputDetails = detailsOf(given, 'completion_tokens_details', 'output_tokens_details');
  const cacheRead =
    count(inputDetails, 'cached_tokens') ??
    count(given, 'cache_read_input_tokens', 'prompt_cache_hit_tokens', 'cached_tokens');
  const cacheWrite = count(given, 'cache_creation_input_tokens');
  const reasoning = count(outputDetails, 'reasoning_tokens') ?? count(given, 'reasoning_tokens');
  return {
    inputTokens: {
      total: input,
      noCache: input === undefined ? undefined : Math.max(0, input - (cacheRead ?? 0)),
      cacheRead,
      cacheWrite,
    },
    outputTokens: {
      total: output,
      text: output === undefined ? undefined : Math.max(0, output - (reasoning ?? 0)),
      reasoning,
    },
    ...(isFields(usage) && { raw: usage as JSONObject }),
  };
}

/** The usage in a chunk: at its top, in Groq's own field, or beside a choice as Moonshot has it. */
export function usageIn(chunk: Record<string, unknown>, choice: Record<string, unknown>): unknown {
  const groq = isFields(chunk.x_groq) ? chunk.x_groq.usage : undefined;
  return [chunk.usage, groq, choice.usage].find(isFields);
}

/** More than any tokenizer puts into a token on average. */
const mostCharactersPerToken = 10;

/**
 * Ollama, and LM Studio by some of its settings, cut a prompt that is too long and say nothing. It is certain in two cases
 * only: the prompt filled the window that such an endpoint is known to have, which leaves no room for an answer (a
 * longer one shows that the window is larger); or a request of far more characters than so many tokens can hold was counted
 * as a round number, as windows are. Any other difference may be our estimate's fault.
 */
export function isPromptCut(
  promptTokens: number | undefined,
  request: string,
  window: number | undefined,
): promptTokens is number {
  if (promptTokens === undefined || promptTokens < 1024) return false;
  if (window !== undefined && promptTokens >= window - 1 && promptTokens <= window) return true;
  if (promptTokens % 1024 !== 0 || request.length <= promptTokens * mostCharactersPerToken) return false;
  return !/"(image_url|input_audio|file_data|video_url)":/.test(request);
}

type Unified = LanguageModelV4FinishReason['unified'];

const reasons: [pattern: RegExp, unified: Unified][] = [
  [/^(stop|stop_sequence|eos|eos_token|end_turn|end|done|complete|completed|finished)$/i, 'stop'],
  [/^(length|max_tokens|max_output_tokens|model_length|model_context_window_exceeded)$/i, 'length'],
  [
    /content.?filter|^(safety|recitation|blocklist|prohibited_content|spii|refusal|sensitive|guardrail.*)$/i,
    'content-filter',
  ],
  [/^(tool_calls?|tool_use|function_call)$/i, 'tool-calls'],
  [/^(error|network_error)$/i, 'error'],
];

/** Many endpoints say `stop` or nothing where a call ends the answer. */
export function finishReasonOf(
  raw: string | undefined,
  { hasCalls }: { hasCalls: boolean },
): LanguageModelV4FinishReason {
  const named = raw === undefined ? 'stop' : reasons.find(([pattern]) => pattern.test(raw))?.[1];
  const unified = named ?? 'other';
  if (hasCalls && (unified === 'stop' || unified === 'other')) return { unified: 'tool-calls', raw };
  // A model that is said to have called a tool and called none has ended its answer.
  if (!hasCalls && unified === 'tool-calls') return { unified: 'stop', raw };
  return { unified, raw };
}

function count(fields: Record<string, unknown>, ...names: string[]): number | undefined {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
  }
  return undefined;
}

function detailsOf(fields: Record<string, unknown>, ...names: string[]): Record<string, unknown> {
  return names.map((name) => fields[name]).find(isFields) ?? {};
}
