import { defineTool, type PausingTool } from '@trunkline/llm';
import { z } from 'zod';
import type { Messages } from '../turns/session-store.ts';
import { openAiErrors } from './errors.ts';

const textPart = z.looseObject({ type: z.string(), text: z.string().optional() });
const content = z.union([z.string(), z.array(textPart), z.null()]).optional();

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content,
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().optional(),
});

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ function: z.looseObject({ name: z.string() }) }),
]);

/** A chat completion as OpenAI's clients ask for it; what is not understood is let through unread. */
export const completionRequest = z.looseObject({
  model: z.string().default(''),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z
    .array(
      z.looseObject({
        function: z.looseObject({
          name: z.string(),
          description: z.string().optional(),
          parameters: z.record(z.string(), z.unknown()).optional(),
        }),
      }),
    )
    .nullish(),
  tool_choice: toolChoice.nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .looseObject({ name: z.string().optional(), schema: z.record(z.string(), z.unknown()).optional() })
        .optional(),
    })
    .nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.int().nullish(),
  n: z.literal(1, 'only one choice is made at a time').nullish(),
  user: z.string().nullish(),
});

export type CompletionRequest = z.output<typeof completionRequest>;
type WireMessage = CompletionRequest['messages'][number];

/** The words of the system messages, which go before the agent's own conversation. */
export function systemWords({ messages }: CompletionRequest): string {
  return messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .join('\n\n');
}

export function toMessages({ messages }: CompletionRequest): Messages {
  const names = new Map<string, string>();
  return messages.flatMap((entry): Messages => {
    for (const call of entry.tool_calls ?? []) names.set(call.id, call.function.name);
    switch (entry.role) {
      case 'user':
        return [{ role: 'user', content: textOf(entry) }];
      case 'assistant':
        return [assistantMessage(entry)];
      case 'tool':
        return [toolMessage(entry, names)];
      default:
        return [];
    }
  });
}

/** Tools of the caller: the turn ends with their calls, and the caller sends the results. */
export function callerTools({ tools, tool_choice }: CompletionRequest): PausingTool[] {
  if (tool_choice === 'none') return [];
  return (tools ?? []).map(({ function: { name, description = '', parameters = {} } }) =>
    defineTool({ name, description, input: z.unknown().meta(parameters), pause: true }),
  );
}

function assistantMessage(entry: WireMessage): Messages[number] {
  const text = textOf(entry);
  const calls = (entry.tool_calls ?? []).map(({ id, function: called }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: called.name,
    input: parseArguments(called.arguments),
  }));
  const said = text === '' ? [] : [{ type: 'text' as const, text }];
  return { role: 'assistant', content: [...said, ...calls] };
}

function toolMessage(entry: WireMessage, names: ReadonlyMap<string, string>): Messages[number] {
  const toolCallId = entry.tool_call_id ?? '';
  const toolName = names.get(toolCallId);
  if (toolName === undefined) {
    throw openAiErrors.invalid_request_error({
      words: `a tool message answers the call "${toolCallId}", which no assistant message before it made`,
    });
  }
  const output = { type: 'text' as const, value: textOf(entry) };
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
}

function textOf({ content: said }: WireMessage): string {
  if (said === undefined || said === null) return '';
  if (typeof said === 'string') return said;
  const other = said.find(({ type }) => type !== 'text');
  if (other === undefined) return said.map(({ text = '' }) => text).join('\n');
  throw openAiErrors.invalid_request_error({ words: `content of type "${other.type}" is not taken here` });
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The model wrote them so; it may read again what it wrote.
    return text;
  }
}
