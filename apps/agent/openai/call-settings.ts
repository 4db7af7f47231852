import type { Graph } from '../turns/graph.ts';
import type { CompletionRequest } from './request.ts';

type Model = ReturnType<Graph['model']>;
type CallOptions = Parameters<Model['doStream']>[0];

/** The model with what the request asks of each call; a forced tool is forced once, or the turn would never end. */
export function withRequestSettings(model: Model, request: CompletionRequest): Model {
  const settings = settingsOf(request);
  const forced = forcedChoice(request);
  let isFirst = true;
  const complete = (options: CallOptions): CallOptions => {
    const choice = isFirst && forced !== undefined ? { toolChoice: forced } : {};
    isFirst = false;
    return { ...options, ...settings, ...choice };
  };
  return {
    ...model,
    doGenerate: (options) => model.doGenerate(complete(options)),
    doStream: (options) => model.doStream(complete(options)),
  };
}

function settingsOf(request: CompletionRequest): Partial<CallOptions> {
  const { temperature, top_p, seed, stop } = request;
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens;
  const responseFormat = responseFormatOf(request);
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof seed === 'number' && { seed }),
    ...(typeof maxOutputTokens === 'number' && { maxOutputTokens }),
    ...(stop && { stopSequences: typeof stop === 'string' ? [stop] : stop }),
    ...(responseFormat && { responseFormat }),
  };
}

function forcedChoice({ tool_choice }: CompletionRequest): CallOptions['toolChoice'] {
  if (tool_choice === 'required') return { type: 'required' };
  if (typeof tool_choice === 'object' && tool_choice !== null) {
    return { type: 'tool', toolName: tool_choice.function.name };
  }
  return undefined;
}

function responseFormatOf({ response_format }: CompletionRequest): CallOptions['responseFormat'] {
  if (!response_format || response_format.type === 'text') return undefined;
  const { name, schema } = response_format.json_schema ?? {};
  return { type: 'json', ...(schema && { schema }), ...(name && { name }) };
}
