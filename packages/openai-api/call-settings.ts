import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { AnswerEvent } from './completion.ts';
import type { CompletionRequest } from './request.ts';

/** What a request asks of each call of the model: sampling, length, effort and the form of the answer. */
export function callSettings(request: CompletionRequest): Partial<LanguageModelV4CallOptions> {
  const { temperature, top_p, seed, stop, frequency_penalty, presence_penalty } = request;
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens;
  const responseFormat = responseFormatOf(request);
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof seed === 'number' && { seed }),
    ...(typeof maxOutputTokens === 'number' && { maxOutputTokens }),
    ...(typeof frequency_penalty === 'number' && { frequencyPenalty: frequency_penalty }),
    ...(typeof presence_penalty === 'number' && { presencePenalty: presence_penalty }),
    ...(stop && { stopSequences: typeof stop === 'string' ? [stop] : stop }),
    ...(responseFormat && { responseFormat }),
    providerOptions: { gateway: rawSettingsOf(request) },
  };
}

/** Settings that the SDK has no word for; the gateway passes them on as they are. */
function rawSettingsOf({ logit_bias, reasoning_effort, verbosity, parallel_tool_calls }: CompletionRequest) {
  return {
    ...(logit_bias && { logit_bias }),
    ...(reasoning_effort && { reasoning_effort }),
    ...(verbosity && { verbosity }),
    ...(typeof parallel_tool_calls === 'boolean' && { parallel_tool_calls }),
  };
}

function responseFormatOf({
  response_format,
}: CompletionRequest): LanguageModelV4CallOptions['responseFormat'] {
  if (!response_format || response_format.type === 'text') return undefined;
  const { name, schema } = response_format.json_schema ?? {};
  return { type: 'json', ...(schema && { schema }), ...(name && { name }) };
}

/** What the model's endpoint refused of a request, each once, for the caller. */
export class RefusedParameters {
  readonly #request: CompletionRequest;
  readonly #seen = new Set<string>();
  #waiting: string[] = [];

  constructor(request: CompletionRequest) {
    this.#request = request;
  }

  /** Takes names of the wire; those that the caller did not set concern nobody. */
  note(names: readonly string[]): void {
    for (const sent of names) {
      const name = this.#asSet(sent);
      if (name === undefined || this.#seen.has(name)) continue;
      this.#seen.add(name);
      this.#waiting.push(name);
    }
  }

  /** An event for those that were not told yet. */
  take(): AnswerEvent[] {
    const names = this.#waiting;
    this.#waiting = [];
    return names.length === 0 ? [] : [{ type: 'ignored-parameters', names }];
  }

  /** The length of an answer has two names. */
  #asSet(name: string): string | undefined {
    const names = name.startsWith('max_') ? ['max_completion_tokens', 'max_tokens'] : [name];
    return names.find((each) => this.#request[each] !== undefined && this.#request[each] !== null);
  }
}
