import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import type { OfferedTool, Outcome } from './types.ts';

/** A model call reduced to what the demo model decides by. */
export interface DemoRequest {
  system: string;
  userText: string;
  tools: ReadonlyMap<string, OfferedTool>;
  /** What came back for the tool calls made since the last user message, one list per step. */
  steps: Outcome[][];
  /** Everything the assistant said before in this conversation. */
  spoken: string;
  /** What was said by either side before the last user message. */
  history: string;
  choice: NonNullable<LanguageModelV4CallOptions['toolChoice']>;
  format: LanguageModelV4CallOptions['responseFormat'];
}

export function readRequest(options: LanguageModelV4CallOptions): DemoRequest {
  const { prompt } = options;
  const lastUser = prompt.findLastIndex((message) => message.role === 'user');
  return {
    system: prompt
      .filter((message) => message.role === 'system')
      .map(textOf)
      .join('\n'),
    userText: textOf(prompt[lastUser]),
    tools: offeredTools(options),
    steps: outcomesOf(prompt.slice(lastUser + 1)),
    spoken: prompt
      .filter((message) => message.role === 'assistant')
      .map(textOf)
      .join('\n'),
    history: prompt
      .slice(0, Math.max(0, lastUser))
      .filter((message) => message.role !== 'system')
      .map(textOf)
      .join('\n'),
    choice: options.toolChoice ?? { type: 'auto' },
    format: options.responseFormat,
  };
}

function offeredTools(options: LanguageModelV4CallOptions): Map<string, OfferedTool> {
  if (options.toolChoice?.type === 'none') return new Map();
  const functions = (options.tools ?? []).filter(
    (tool): tool is LanguageModelV4FunctionTool => tool.type === 'function',
  );
  return new Map(
    functions.map(({ name, description = '', inputSchema }) => [
      name,
      { name, description, schema: inputSchema },
    ]),
  );
}

function textOf(message: LanguageModelV4Message | undefined): string {
  if (message === undefined) return '';
  if (message.role === 'system') return tidy(message.content);
  return tidy(
    message.content.flatMap((part) => (part.type === 'text' ? [withoutFence(part.text)] : [])).join('\n'),
  );
}

/** The loop puts text from outside into a fence. */
function withoutFence(text: string): string {
  return text.replace(/^<(outside-[0-9a-f]{24})[^>]*>\n([\s\S]*)\n<\/\1>$/, '$2');
}

/** Long runs of blanks mean nothing, and patterns would crawl over them. */
function tidy(text: string): string {
  return text.replace(/\s{20,}/g, '\n\n');
}

/** Groups calls and their results by the assistant message that made them. */
function outcomesOf(messages: LanguageModelV4Prompt): Outcome[][] {
  const results = new Map(
    messages
      .flatMap((message) =>
        message.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [],
      )
      .map((part) => [part.toolCallId, withoutFence(resultText(part.output))]),
  );
  return messages
    .flatMap((message) =>
      message.role === 'assistant' ? [message.content.filter((part) => part.type === 'tool-call')] : [],
    )
    .filter((calls) => calls.length > 0)
    .map((calls) =>
      calls.map((call) => ({
        tool: call.toolName,
        input: asRecord(call.input),
        result: results.get(call.toolCallId) ?? '',
      })),
    );
}

function resultText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
    case 'content':
      return output.value.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    case 'execution-denied':
      return `Error: the call was not allowed${output.reason === undefined ? '' : `: ${output.reason}`}`;
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
