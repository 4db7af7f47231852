import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';

/** A tool of the request, as far as the demo model looks at it. */
export interface OfferedTool {
  name: string;
  description: string;
  schema: JSONSchema7;
}

/** A call the demo model decided on. */
export interface Call {
  tool: string;
  input: Record<string, unknown>;
}

/** The outcome of a call, read back from the prompt of the next step. */
export interface Outcome extends Call {
  result: string;
}

/** What an intent may look at besides the clause itself. */
export interface Situation {
  tools: ReadonlyMap<string, OfferedTool>;
  now: Date;
  /** Of the person, where the instructions name it. */
  zone?: string | undefined;
  /** Results of the step before, for "search X, then remember it". */
  previous: string;
}

/** Calls to make, or words to say when the wish is clear but cannot be served. */
export type Recognised = Call[] | string | undefined;

/** One thing a person may ask for. It counts only when one of its tools is in the request. */
export interface Intent {
  tools: readonly string[];
  /** Sentences that show the wish, listed under "what can you do". */
  examples: readonly string[];
  recognise(clause: string, situation: Situation): Recognised;
}

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
