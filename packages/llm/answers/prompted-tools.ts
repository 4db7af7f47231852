import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];
type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type CallPart = Extract<AssistantPart, { type: 'tool-call' }>;

/** How calls and their results stand in the conversation of a model that has no words of its own for them. */
interface Spelling {
  call(part: CallPart): string;
  result(name: string, text: string): string;
}

const tagged: Spelling = {
  call: ({ toolName, input }) =>
    `<tool_call>\n${JSON.stringify({ name: toolName, arguments: input })}\n</tool_call>`,
  result: (name, text) =>
    `<tool_response name="${name}">\n${text.replaceAll(/<(?=\/?tool_response)/gi, '< ')}\n</tool_response>`,
};

const plain: Spelling = {
  call: ({ toolName, input }) => `(I used ${toolName} with ${JSON.stringify(input)}.)`,
  result: (name, text) => `Result of ${name}:\n${text}`,
};

/** The call with its tools described in the prompt, and earlier calls and results as text. */
export function promptTools({
  tools = [],
  toolChoice,
  prompt,
  ...rest
}: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const functions = tools.filter((tool) => tool.type === 'function');
  const messages = inText(prompt, tagged);
  if (functions.length === 0 || toolChoice?.type === 'none') return { ...rest, prompt: messages };
  return { ...rest, prompt: withInstructions(messages, describeTools(functions, toolChoice)) };
}

/** The call without tools, and earlier calls and results in words. */
export function withoutTools({
  tools: _,
  toolChoice: __,
  prompt,
  ...rest
}: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  return { ...rest, prompt: inText(prompt, plain) };
}

function describeTools(
  tools: readonly LanguageModelV4FunctionTool[],
  choice: LanguageModelV4CallOptions['toolChoice'],
): string {
  const must =
    choice?.type === 'tool'
      ? ` Call ${choice.toolName} now.`
      : choice?.type === 'required'
        ? ' Call a tool now.'
        : ' Call a tool only where you need it; otherwise just answer.';
  return [
    'You can call tools. To call one, end your answer with a block of this form and write nothing behind it:',
    '<tool_call>\n{"name": "tool_name", "arguments": {"key": "value"}}\n</tool_call>',
    `Several blocks make several calls. The next message then brings the results in <tool_response> blocks; never write such a block yourself.${must}`,
    `Tools:\n${tools.map(describeTool).join('\n')}`,
  ].join('\n\n');
}

function describeTool({ name, description, inputSchema }: LanguageModelV4FunctionTool): string {
  const { properties = {}, required = [] } = inputSchema as Schema;
  const parameters = Object.entries(properties);
  const signature = parameters.map(
    ([key, field]) => `${key}${required.includes(key) ? '' : '?'}: ${typeName(field)}`,
  );
  const notes = parameters.flatMap(([key, field]) =>
    field.description ? [`\n    ${key}: ${field.description}`] : [],
  );
  return `- ${name}(${signature.join(', ')})${description ? `: ${description}` : ''}${notes.join('')}`;
}

interface Schema {
  type?: string | readonly string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
}

const deepest = 4;

/** A schema as a type of TypeScript, which models read well and which is short. */
function typeName(schema: Schema, depth = 0): string {
  const { type, properties, required = [], items, enum: values, const: only } = schema;
  const options = schema.anyOf ?? schema.oneOf;
  if (only !== undefined) return JSON.stringify(only);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (options !== undefined) return options.map((option) => typeName(option, depth)).join(' | ');
  if (type === 'array') return `${items === undefined ? 'unknown' : typeName(items, depth + 1)}[]`;
  if (properties !== undefined && depth < deepest) {
    const fields = Object.entries(properties).map(
      ([key, field]) => `${key}${required.includes(key) ? '' : '?'}: ${typeName(field, depth + 1)}`,
    );
    return `{${fields.join(', ')}}`;
  }
  return type === undefined ? 'unknown' : typeof type === 'string' ? type : type.join(' | ');
}

function withInstructions(prompt: LanguageModelV4Prompt, words: string): LanguageModelV4Prompt {
  const [first, ...others] = prompt;
  if (first?.role === 'system') return [{ ...first, content: `${first.content}\n\n${words}` }, ...others];
  return [{ role: 'system', content: words }, ...prompt];
}

/** The conversation with calls and results as text. Templates of small models want the speakers to take turns. */
function inText(prompt: LanguageModelV4Prompt, spelling: Spelling): LanguageModelV4Prompt {
  const messages: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const rewritten = rewrite(message, spelling);
    const last = messages.at(-1);
    if (last?.role === 'user' && rewritten.role === 'user') last.content.push(...rewritten.content);
    else messages.push(rewritten);
  }
  return messages;
}

function rewrite(message: LanguageModelV4Message, { call, result }: Spelling): LanguageModelV4Message {
  if (message.role === 'user') return { ...message, content: [...message.content] };
  if (message.role === 'tool') {
    const content = message.content.flatMap((part): UserPart[] =>
      part.type === 'tool-result'
        ? [{ type: 'text', text: result(part.toolName, outputText(part.output)) }]
        : [],
    );
    return { role: 'user', content };
  }
  if (message.role !== 'assistant') return message;
  const content = message.content.flatMap((part): AssistantPart[] => {
    if (part.type === 'tool-call') return [{ type: 'text', text: `\n${call(part)}` }];
    return part.type === 'reasoning' ? [] : [part];
  });
  return { ...message, content };
}

function outputText(output: LanguageModelV4ToolResultOutput): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value;
  if (output.type === 'execution-denied') return output.reason ?? 'The call was refused.';
  if (output.type !== 'content') return JSON.stringify(output.value);
  return output.value.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
}
