import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { providerName, wireMessages } from './messages.ts';

/** What shapes a request beyond the call itself. */
export interface RequestProfile {
  /** `prompted` and `none` send no tools. */
  tools: 'native' | 'prompted' | 'none';
  /** Parameters that the model refuses. A left out `max_tokens` goes as `max_completion_tokens`. */
  omitParameters: readonly string[];
  /** Longest answer that the configuration allows, whatever the call asks for. */
  mostTokens?: number | undefined;
}

export interface WireRequest {
  body: Record<string, unknown>;
  /** What the call carries and the body does not, as the model refuses it. */
  omitted: string[];
  warnings: SharedV4Warning[];
}

/** The fields of thoughts that go back with messages; they are refused and left out like parameters. */
const thoughtFields = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details', 'thinking_blocks'];

function shorterOf(asked: number | undefined, most: number | undefined): number | undefined {
  return asked === undefined || most === undefined ? (asked ?? most) : Math.min(asked, most);
}

/** The body of a chat completion request. */
export function wireRequest(
  model: string,
  call: LanguageModelV4CallOptions,
  profile: RequestProfile,
  stream: boolean,
): WireRequest {
  const omitted = new Set(profile.omitParameters);
  const { user, reasoningEffort, textVerbosity, strictJsonSchema, ...raw } = providerOptions(call);
  const effort = reasoningEffort ?? customEffort(call.reasoning);
  const body: Record<string, unknown> = {
    model,
    ...(user !== undefined && { user }),
    [omitted.has('max_tokens') ? 'max_completion_tokens' : 'max_tokens']: shorterOf(
      call.maxOutputTokens,
      profile.mostTokens,
    ),
    temperature: call.temperature,
    top_p: call.topP,
    ...(call.topK !== undefined && raw.top_k === undefined && { top_k: call.topK }),
    frequency_penalty: call.frequencyPenalty,
    presence_penalty: call.presencePenalty,
    stop: call.stopSequences?.length ? call.stopSequences : undefined,
    seed: call.seed,
    response_format: responseFormat(call, strictJsonSchema !== false),
    ...raw,
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(textVerbosity !== undefined && { verbosity: textVerbosity }),
    messages: wireMessages(call.prompt),
    ...toolFields(call, profile, omitted),
    ...(stream && !omitted.has('stream') && { stream: true, stream_options: { include_usage: true } }),
  };
  if (omitted.has('response_format')) askForJson(body, call);
  const left = [...omitted].filter((name) => body[name] !== undefined && name !== 'response_format');
  // Tools that are described in the prompt can always be called several at a time.
  if (profile.tools !== 'native' && raw.parallel_tool_calls === false) left.push('parallel_tool_calls');
  for (const name of omitted) omit(body, name);
  const providerTools = call.tools?.filter((tool) => tool.type === 'provider') ?? [];
  const warnings = providerTools.map(({ id }) => ({ type: 'unsupported' as const, feature: `tool ${id}` }));
  return { body, omitted: left, warnings };
}

function providerOptions({ providerOptions: given }: LanguageModelV4CallOptions): JSONObject {
  return { ...given?.openaiCompatible, ...given?.[providerName] };
}

function customEffort(reasoning: LanguageModelV4CallOptions['reasoning']): string | undefined {
  return reasoning === 'provider-default' ? undefined : reasoning;
}

function responseFormat({ responseFormat: format }: LanguageModelV4CallOptions, strict: boolean) {
  if (format?.type !== 'json') return undefined;
  const { schema, name = 'response', description } = format;
  if (schema === undefined) return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name, description, schema, strict } };
}

/** For endpoints that know no response format: the schema is asked for in words. */
function askForJson(
  body: Record<string, unknown>,
  { responseFormat: format }: LanguageModelV4CallOptions,
): void {
  if (format?.type !== 'json') return;
  const schema =
    format.schema === undefined ? '' : ` It must match this JSON schema: ${JSON.stringify(format.schema)}`;
  const words = `Answer with one JSON document and nothing else, without a code fence.${schema}`;
  const messages = body.messages as Record<string, unknown>[];
  const [first] = messages;
  if (first?.role === 'system') messages[0] = { ...first, content: `${first.content}\n\n${words}` };
  else messages.unshift({ role: 'system', content: words });
}

function toolFields(
  { tools, toolChoice }: LanguageModelV4CallOptions,
  profile: RequestProfile,
  omitted: ReadonlySet<string>,
): Record<string, unknown> {
  const functions = (tools ?? []).flatMap((tool) => (tool.type === 'function' ? [wireTool(tool)] : []));
  const forbidden = toolChoice?.type === 'none' && omitted.has('tool_choice');
  if (functions.length === 0 || profile.tools !== 'native' || forbidden)
    return { parallel_tool_calls: undefined, tool_choice: undefined };
  if (toolChoice === undefined) return { tools: functions };
  const named = toolChoice.type === 'tool' && { type: 'function', function: { name: toolChoice.toolName } };
  return { tools: functions, tool_choice: named || toolChoice.type };
}

interface WireTool {
  type: 'function';
  function: {
    name: string;
    description?: string | undefined;
    parameters: object;
    strict?: boolean | undefined;
  };
}

/** By their schemas: a tool is offered in every step of every turn. */
const wireTools = new WeakMap<object, { tool: WireTool; text: string }>();

function wireTool({ name, description, inputSchema, strict }: LanguageModelV4FunctionTool): WireTool {
  const known = wireTools.get(inputSchema)?.tool;
  const same = known?.function;
  if (same?.name === name && same.description === description && same.strict === strict)
    return known as WireTool;
  const tool: WireTool = {
    type: 'function',
    function: { name, description, parameters: inputSchema, strict },
  };
  wireTools.set(inputSchema, { tool, text: JSON.stringify(tool) });
  return tool;
}

/** The body as JSON. The tools, most of a request, are not written anew for each. */
export function requestText({ tools, ...body }: Record<string, unknown>): string {
  const text = JSON.stringify(body);
  if (!Array.isArray(tools)) return text;
  const texts = (tools as WireTool[]).map((tool) => {
    const known = wireTools.get(tool.function.parameters);
    return known?.tool === tool ? known.text : JSON.stringify(tool);
  });
  return `${text.slice(0, -1)},"tools":[${texts.join(',')}]}`;
}

/** The names that a request's body carries and an endpoint may refuse: parameters, and the fields of thoughts in messages. */
export function sentNames(body: Record<string, unknown>): string[] {
  const parameters = Object.keys(body).filter((name) => body[name] !== undefined);
  const messages = body.messages as Record<string, unknown>[];
  return [...parameters, ...thoughtFields.filter((name) => messages.some((message) => name in message))];
}

function omit(body: Record<string, unknown>, name: string): void {
  if (name === 'messages' || name === 'model') return;
  delete body[name];
  if (!thoughtFields.includes(name)) return;
  body.messages = (body.messages as Record<string, unknown>[]).map(({ [name]: _, ...message }) => message);
}

/** Takes the names of parameters that a call carried and that were not sent, as the endpoint refuses them. */
type OnOmitted = (names: readonly string[]) => void;

const listeners = new AsyncLocalStorage<OnOmitted>();

/** Applies settings to each call of a model, and tells which of them the endpoint does not get. */
export function withCallSettings(
  model: LanguageModelV4,
  settings: Partial<LanguageModelV4CallOptions>,
  onOmitted: OnOmitted,
): LanguageModelV4 {
  const complete = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
    ...options,
    ...settings,
    providerOptions: { ...options.providerOptions, ...settings.providerOptions },
  });
  return {
    ...model,
    doGenerate: (options) => listeners.run(onOmitted, () => model.doGenerate(complete(options))),
    doStream: (options) => listeners.run(onOmitted, () => model.doStream(complete(options))),
  };
}

/** Tells whoever listens to the call that is being made. */
export function reportOmitted(names: readonly string[]): void {
  if (names.length > 0) listeners.getStore()?.(names);
}
