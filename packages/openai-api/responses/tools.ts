import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ToolCall } from '../completion.ts';
import type { CompletionRequest } from '../request.ts';

const named = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  /** What a custom tool takes: any text, or text that a grammar describes. */
  format: z.looseObject({ type: z.string(), definition: z.string().optional() }).nullish(),
});

/** A tool of a request: a function, a custom tool that takes text, or a namespace that holds several of both. */
export const requestTool = named.extend({ tools: z.array(named).nullish() });
type RequestTool = z.output<typeof requestTool>;

export const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({
    type: z.string(),
    name: z.string().optional(),
    /** Of `allowed_tools`. */
    mode: z.enum(['auto', 'required']).optional(),
    tools: z.array(named).optional(),
  }),
]);
type ToolChoice = z.output<typeof toolChoice>;

interface CallerTool extends z.output<typeof named> {
  name: string;
  namespace?: string | undefined;
}

type Given = readonly RequestTool[] | null | undefined;

/** The tools of a request, and those that items of its conversation have added. */
export function allTools(
  tools: Given,
  items: readonly { type: string; tools?: RequestTool[] | null | undefined }[],
): RequestTool[] | undefined {
  const added = items.flatMap(({ type, tools: more }) => (type === 'additional_tools' ? (more ?? []) : []));
  return added.length === 0 ? (tools?.slice() ?? undefined) : [...(tools ?? []), ...added];
}

/** Functions have one name for models, of at most this many characters. */
const longestName = 64;

/** The name under which a model gets a tool of a namespace. */
export function functionName({ name, namespace }: { name: string; namespace?: unknown }): string {
  if (typeof namespace !== 'string' || namespace === '') return name;
  const whole = `${namespace.replace(/_+$/, '')}__${name}`;
  if (whole.length <= longestName) return whole;
  const mark = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${whole.slice(0, longestName - mark.length - 1)}_${mark}`;
}

/** Services with a search of their own search; clients send these unasked, and their absence misleads nobody. */
function isSearch({ type }: { type: string }): boolean {
  return /^web_search(_preview)?(_\d|$)/.test(type);
}

/** A request may name each of its tools many times. */
interface ToolIndex {
  all: readonly CallerTool[];
  /** By name, and by namespace and name; the first of a name counts. */
  byName: ReadonlyMap<string, CallerTool>;
  byFunction: ReadonlyMap<string, CallerTool>;
}

const indexes = new WeakMap<object, ToolIndex>();

function indexOf(tools: Given): ToolIndex {
  const known = tools && indexes.get(tools);
  if (known) return known;
  const all = callerTools(tools);
  const byName = new Map<string, CallerTool>();
  const byFunction = new Map<string, CallerTool>();
  for (const tool of all) {
    for (const key of [keyOf(tool.name), keyOf(tool.name, tool.namespace ?? '')])
      if (!byName.has(key)) byName.set(key, tool);
    const called = functionName(tool);
    if (!byFunction.has(called)) byFunction.set(called, tool);
  }
  const index = { all, byName, byFunction };
  if (tools) indexes.set(tools, index);
  return index;
}

function keyOf(name: string, namespace?: unknown): string {
  return JSON.stringify(namespace === undefined ? [name] : [name, namespace]);
}

function callerTools(tools: Given): CallerTool[] {
  return (tools ?? []).flatMap((tool): CallerTool[] => {
    const inner = tool.type === 'namespace' ? (tool.tools ?? []) : [tool];
    return inner.flatMap((each, index) => {
      if (each.name === undefined || !['function', 'custom'].includes(each.type)) return [];
      if (tool.type !== 'namespace') return [{ ...each, name: each.name }];
      // Said once: it is the same for all.
      const about = index === 0 && tool.description ? `${tool.name}: ${tool.description}` : '';
      const description = [about, each.description].filter(Boolean).join('\n\n');
      return [{ ...each, name: each.name, namespace: tool.name, description }];
    });
  });
}

/** Of all namespaces. */
export function countTools(tools: Given): number {
  return indexOf(tools).all.length;
}

/** The first tool that no service can give its model, and those that are left out without harm. */
export function checkTools(tools: Given): { refused?: { place: string; type: string }; ignored: string[] } {
  const ignored: string[] = [];
  for (const [index, tool] of (tools ?? []).entries()) {
    const inner = tool.type === 'namespace' && tool.name ? (tool.tools ?? []) : [tool];
    const wrong = inner.findIndex(({ type, name }) => !['function', 'custom'].includes(type) || !name);
    if (wrong < 0) continue;
    const place = inner[0] === tool ? `tools[${index}]` : `tools[${index}].tools[${wrong}]`;
    if (!isSearch(tool)) return { refused: { place, type: inner[wrong]?.type ?? tool.type }, ignored };
    ignored.push(place);
  }
  return { ignored };
}

/** The caller's tools as functions, the only ones that models take; those that `allowed_tools` leaves. */
export function asFunctions(tools: Given, choice: ToolChoice | null | undefined): CompletionRequest['tools'] {
  if (!tools) return undefined;
  const allowed =
    typeof choice === 'object' && choice?.type === 'allowed_tools'
      ? new Set((choice.tools ?? []).map((each) => nameOf(each, tools)))
      : undefined;
  return indexOf(tools)
    .all.filter((tool) => allowed?.has(functionName(tool)) ?? true)
    .map((tool) => ({ type: 'function', function: asFunction(tool) }));
}

function asFunction(tool: CallerTool) {
  const { type, description, parameters, format } = tool;
  const name = functionName(tool);
  if (type === 'function')
    return { name, ...(description && { description }), ...(parameters && { parameters }) };
  const form = format?.definition ? `\n\nThe text follows this grammar:\n${format.definition}` : '';
  return {
    name,
    description: `${description ?? ''}${form}`.trim(),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The text that the tool takes, as it is.' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

/** The choice of a tool as chat completions have it; undefined if it chooses none that a caller can bring. */
export function chosenFunction(
  choice: ToolChoice | null | undefined,
  tools: Given,
): { choice: CompletionRequest['tool_choice'] } | undefined {
  if (typeof choice !== 'object' || choice === null) return { choice };
  if (choice.type === 'allowed_tools') return { choice: choice.mode ?? 'auto' };
  if (!['function', 'custom'].includes(choice.type) || !choice.name) return undefined;
  return { choice: { type: 'function', function: { name: nameOf(choice, tools) } } };
}

/** A choice names a tool, and not always the namespace that it is in. */
function nameOf({ name = '', namespace }: { name?: string | undefined; namespace?: unknown }, tools: Given) {
  return functionName(indexOf(tools).byName.get(keyOf(name, namespace)) ?? { name, namespace });
}

/** The fields of a call as its caller knows the tool: by namespace and name, a custom one with its text. */
export function calledFields({ id, function: called }: ToolCall, tools: Given) {
  const tool = indexOf(tools).byFunction.get(called.name);
  const { name = called.name, namespace } = tool ?? {};
  const head = { call_id: id, name, ...(namespace !== undefined && { namespace }) };
  if (tool?.type !== 'custom')
    return { type: 'function_call' as const, ...head, arguments: called.arguments };
  return { type: 'custom_tool_call' as const, ...head, input: customInput(called.arguments) };
}

/** Of what a model gives for a custom tool. Some write the text itself. */
function customInput(given: string): string {
  try {
    const read: unknown = JSON.parse(given);
    if (typeof read === 'string') return read;
    if (typeof read === 'object' && read !== null && 'input' in read && typeof read.input === 'string')
      return read.input;
  } catch {
    // Not JSON: the text itself.
  }
  return given;
}
