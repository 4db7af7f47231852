import { type CompletionRequest, type RequestMessage, systemText, textOf } from '@trunkline/openai-api';
import type { ChatHistoryItem, ChatModelFunctionCall, ChatModelFunctions } from 'node-llama-cpp';
import { grammarSchema } from './schema.ts';

/** The conversation as node-llama-cpp keeps it: a call and its result stand in the turn of the model. */
export function toHistory(request: CompletionRequest): ChatHistoryItem[] {
  const system = systemText(request);
  const history: ChatHistoryItem[] = system === '' ? [] : [{ type: 'system', text: system }];
  const calls = new Map<string, ChatModelFunctionCall>();
  for (const message of request.messages) {
    if (message.role === 'user') history.push({ type: 'user', text: textOf(message) });
    if (message.role === 'assistant') modelTurn(history).push(...assistantParts(message, calls));
    const call = message.role === 'tool' ? calls.get(message.tool_call_id ?? '') : undefined;
    if (call !== undefined) call.result = parsed(textOf(message));
  }
  // The model goes on in its own turn, which a result of a tool does not end.
  modelTurn(history);
  return history;
}

type ModelParts = Extract<ChatHistoryItem, { type: 'model' }>['response'];

function modelTurn(history: ChatHistoryItem[]): ModelParts {
  const last = history.at(-1);
  if (last?.type === 'model') return last.response;
  const response: ModelParts = [];
  history.push({ type: 'model', response });
  return response;
}

function assistantParts(message: RequestMessage, calls: Map<string, ChatModelFunctionCall>): ModelParts {
  const text = textOf(message);
  const made = (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }, index) => {
    const call: ChatModelFunctionCall = {
      type: 'functionCall',
      name,
      params: parsed(given),
      result: undefined,
      ...(index === 0 && { startsNewChunk: true }),
    };
    calls.set(id, call);
    return call;
  });
  return [...(text === '' ? [] : [text]), ...made];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The tools that may be called; undefined when none may. */
export function toFunctions({
  tools,
  tool_choice: choice,
}: CompletionRequest): ChatModelFunctions | undefined {
  const named = typeof choice === 'object' ? choice?.function.name : undefined;
  const offered = (tools ?? []).filter(({ function: { name } }) => named === undefined || name === named);
  if (offered.length === 0 || choice === 'none') return undefined;
  return Object.fromEntries(
    offered.map(({ function: { name, description, parameters } }) => [
      name,
      {
        ...(description !== undefined && { description }),
        params: parameters === undefined ? null : grammarSchema(parameters),
      },
    ]),
  );
}
