import { readRelaxedJson } from './relaxed-json.ts';

/** A tool call that a model wrote into its text. */
export interface TextCall {
  name: string;
  /** The arguments as JSON; as the model wrote them where they cannot be read. */
  input: string;
  /** The call as it stands in the answer. */
  written: string;
}

type FoundCall = Pick<TextCall, 'name' | 'input'> & Partial<TextCall>;

/**
 * What begins a block of calls, by the models that write it. All of it is reserved for calls, so that such a block is
 * taken for one at first sight.
 */
export const callMarks: readonly string[] = [
  '<tool_call>', // Hermes, Qwen, GLM, Granite 3.1
  '<tool_calls>',
  '<function=', // Qwen3-Coder without its wrapper, Llama 3.1
  '<function_call>',
  '<function_calls>',
  '<toolcall>', // Nemotron
  '<|tool_call|>', // Phi-4, Granite 3.0
  '<|tool_call>', // Gemma 4
  '<start_function_call>', // FunctionGemma
  '<minimax:tool_call>',
  '<seed:tool_call>',
  '<steptml:',
  '<invoke name=',
  '<｜dsml｜', // DeepSeek V3.2
  '<｜tool▁calls▁begin｜>', // DeepSeek V3, R1, V3.1
  '<｜tool▁call▁begin｜>',
  '<|tool_calls_section_begin|>', // Kimi K2
  '<|tool_call_begin|>',
  '<|start_action|>', // Command R
  '<|python_tag|>', // Llama 3
  '[tool_calls]', // Mistral
  'functions.', // Kimi K2 with its tokens left out
];

/** `functions.` and a tool that is offered. */
export function namesTool(line: string, offered: ReadonlySet<string>, isEnd: boolean): boolean | 'wait' {
  const name = line.slice('functions.'.length);
  if ([...offered].some((each) => name.startsWith(each) && /^[:\s{<[]/.test(name.slice(each.length))))
    return true;
  return !isEnd && [...offered].some((each) => each.startsWith(name)) ? 'wait' : false;
}

/** JSON or a fence that may turn out to be a call. Behind text it may be an example, unless the fence is one for calls. */
export function beginsWeakCall(
  line: string,
  offered: ReadonlySet<string>,
  isEnd: boolean,
  isBehindText: boolean,
): boolean | 'wait' {
  if (!isEnd && /^`{1,2}$|^```[^\n`]{0,40}$|^```[\w-]*[ \t]*\r?\n\s*$/.test(line)) return 'wait';
  const forms = isBehindText
    ? /^```tool_(?:calls?|code)[ \t]*\r?\n\s*/i
    : /^```(?:json|tool_calls?|tool_code|xml|python)?[ \t]*\r?\n\s*/i;
  const fence = forms.exec(line)?.[0];
  if (fence === undefined && (isBehindText || line.startsWith('`'))) return false;
  const body = line.slice(fence?.length ?? 0);
  if (
    /^(?:\[\s*)?\{\s*["']?(?:name|function|tool|tool_name|tool_calls?|tool_call_id|type|id)["']?\s*:/.test(
      body,
    )
  )
    return true;
  if (fence !== undefined && callMarks.some((mark) => body.toLowerCase().startsWith(mark))) return true;
  for (const name of offered)
    if (body.startsWith(`[${name}(`) || (fence && body.startsWith(`${name}(`))) return true;
  if (isEnd) return false;
  if (body.length >= 200) return false;
  const isOpen =
    /^(?:\[\s*)?(?:\{\s*["']?\w{0,12}["']?\s*)?$/.test(body) ||
    [...offered].some((name) => `[${name}(`.startsWith(body) || (fence && `${name}(`.startsWith(body))) ||
    (fence !== undefined && callMarks.some((mark) => mark.startsWith(body.toLowerCase())));
  return isOpen ? 'wait' : false;
}

/** From the first mark of a call that begins a line. */
export function firstBlock(text: string): string | undefined {
  const lower = text.toLowerCase();
  const starts = callMarks.flatMap((mark) => {
    const at = lower.startsWith(mark) ? 0 : lower.indexOf(`\n${mark}`);
    return at < 0 ? [] : [at];
  });
  return starts.length === 0 ? undefined : text.slice(Math.min(...starts));
}

/** Marks around and between calls. */
const separator =
  /(?:\s|,|;|<\/?(?:tool_calls?|function_calls?|toolcall|minimax:tool_call|seed:tool_call|action)>|<\|\/?tool_call\|?>|<tool_call\|>|<\/?(?:start|end)_function_call>|<(?:start|end)_function_call>|<\/?steptml:[^>]*>|<｜tool▁calls?▁(?:begin|end)｜>|<\/?｜DSML｜(?:function|tool)_calls>|<\|tool_calls?(?:_section)?_(?:begin|end)\|>|<\|(?:start|end)_action\|>|<\|python_tag\|>|\[tool_calls\]|\[\/tool_calls\]|<\|(?:eom_id|eot_id|im_end|call|end|return)\|>|<｜end▁of▁sentence｜>|<\/s>)+/iy;

/** Results that a model makes up behind its call. */
const madeUpResult =
  /^(?:<tool_response>|<tool_result|<\|im_start\|>|<\|start_header_id\|>|<function_results?>|Observation:)/;

/** No model means more in one answer. */
const mostCalls = 64;

/**
 * The calls of a block that holds nothing else, all of them of tools that are offered. Undefined when the block holds
 * anything besides.
 */
export function readTextCalls(
  block: string,
  offered: ReadonlySet<string>,
  forms: readonly Reader[] = [readFence, ...readers],
): TextCall[] | undefined {
  const calls: TextCall[] = [];
  let at = 0;
  for (;;) {
    at += matchAt(separator, block, at)?.[0].length ?? 0;
    if (at >= block.length || madeUpResult.test(block.slice(at, at + 40)))
      return calls.length > 0 ? calls : undefined;
    const read = forms.map((reader) => reader(block, at, offered)).find((found) => found !== undefined);
    if (read === undefined || read.end <= at || calls.length > mostCalls) return undefined;
    const written = block.slice(at, read.end);
    calls.push(...read.calls.map((call) => ({ written, ...call })));
    if (!read.calls.every(({ name }) => offered.has(name))) return undefined;
    at = read.end;
  }
}

interface Read {
  calls: FoundCall[];
  end: number;
}

type Reader = (text: string, at: number, offered: ReadonlySet<string>) => Read | undefined;

const readers: readonly Reader[] = [readJson, readTags, readKeys, readPython, readNamed];

/** A code fence around what any of the others reads; a fence within it is no call. */
function readFence(text: string, at: number, offered: ReadonlySet<string>): Read | undefined {
  const fence = matchAt(/```[\w-]*[ \t]*\n([\s\S]*?)(?:\n[ \t]*```|$)/y, text, at);
  if (fence === undefined) return undefined;
  const calls = readTextCalls(fence[1] ?? '', offered, readers);
  return calls && { calls, end: at + fence[0].length };
}

/** `{"name": …, "arguments": …}`, or a list of such. */
function readJson(text: string, at: number): Read | undefined {
  if (text[at] !== '{' && text[at] !== '[') return undefined;
  const read = readRelaxedJson(text, at);
  if (read === undefined) return readBroken(text, at);
  const calls = callsIn(read.value);
  return calls && { calls, end: read.end };
}

function callsIn(value: unknown): FoundCall[] | undefined {
  if (Array.isArray(value)) {
    const calls = value.map(callIn);
    return calls.every((call) => call !== undefined) && calls.length > 0 ? calls : undefined;
  }
  if (isRecord(value) && Array.isArray(value.tool_calls)) return callsIn(value.tool_calls);
  const call = callIn(value);
  return call && [call];
}

const nameFields = ['name', 'tool_name', 'tool', 'function'];
const argumentFields = ['arguments', 'parameters', 'args', 'input', 'params'];
const otherFields = new Set(['type', 'id', 'tool_call_id', 'thought']);

/** The call that an object is; an object with anything else in it is an answer. */
function callIn(value: unknown): FoundCall | undefined {
  if (!isRecord(value)) return undefined;
  if (isRecord(value.function)) return callIn(value.function);
  const nameField = nameFields.find((field) => typeof value[field] === 'string');
  if (nameField === undefined) return undefined;
  const argumentField = argumentFields.find((field) => field in value);
  const known = new Set([...otherFields, nameField, argumentField]);
  if (Object.keys(value).some((field) => !known.has(field))) return undefined;
  const given = argumentField === undefined ? {} : value[argumentField];
  const input = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return { name: bareName(String(value[nameField])), input, written: JSON.stringify(value) };
}

/** JSON that breaks off or cannot be read: the model is told, where it can be told which tool it meant. */
function readBroken(text: string, at: number): Read | undefined {
  const head = matchAt(
    /\[?\s*\{\s*(?:"(?:type|id)"\s*:\s*"[^"]*"\s*,\s*)*"(?:name|tool_name)"\s*:\s*"([^"]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*/y,
    text,
    at,
  );
  if (head === undefined) return undefined;
  const rest = text.slice(at + head[0].length);
  const end = rest.search(/<\/tool_call>|<\/function_call>|\n```/);
  const body = end < 0 ? rest : rest.slice(0, end);
  const input = end < 0 ? body : withoutClose(body);
  return { calls: [{ name: bareName(head[1] ?? ''), input }], end: at + head[0].length + body.length };
}

/** Without the brackets that close the call and the list of calls. */
function withoutClose(text: string): string {
  const end = text.trimEnd();
  const inner = end.endsWith(']') ? end.slice(0, -1).trimEnd() : end;
  return inner.endsWith('}') ? inner.slice(0, -1) : text;
}

/** `<function=name><parameter=key>value</parameter></function>` and `<invoke name="…"><parameter name="…">`. */
function readTags(text: string, at: number): Read | undefined {
  const block =
    matchAt(/<function=([\w.:-]+)>([\s\S]*?)(?:<\/function>|(?=<\/tool_call>|<function=)|$)/y, text, at) ??
    matchAt(/<(?:｜DSML｜)?invoke name="([^"]+)">([\s\S]*?)(?:<\/(?:｜DSML｜)?invoke>|$)/y, text, at);
  if (block === undefined) return undefined;
  const [all, name = '', body = ''] = block;
  const json = readRelaxedJson(body);
  if (json !== undefined && body.slice(json.end).trim() === '')
    return { calls: [{ name: bareName(name), input: JSON.stringify(json.value) }], end: at + all.length };
  const parameter =
    /\s*<(?:｜DSML｜)?parameter(?:=([\w.-]+)| name="([^"]+)"[^>]*)>([\s\S]*?)(?:<\/(?:｜DSML｜)?parameter>|(?=<(?:｜DSML｜)?parameter[= ])|$)\s*/y;
  const input = fieldsOf(body, parameter, ([, short, long, value = '']) => [
    short ?? long ?? '',
    unframed(value),
  ]);
  return input === undefined ? undefined : { calls: [{ name: bareName(name), input }], end: at + all.length };
}

/** GLM: `name`, then `<arg_key>` and `<arg_value>` in pairs. */
function readKeys(text: string, at: number): Read | undefined {
  const block = matchAt(/([\w.-]+)\s*((?:<arg_key>[\s\S]*?<\/arg_value>\s*)+|(?=<\/tool_call>))/y, text, at);
  if (block === undefined) return undefined;
  const pair = /\s*<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>\s*/y;
  const input = fieldsOf(block[2] ?? '', pair, ([, key = '', value = '']) => [key.trim(), unframed(value)]);
  return input === undefined
    ? undefined
    : { calls: [{ name: bareName(block[1] ?? ''), input }], end: at + block[0].length };
}

/** Llama 4 and Gemma 3: `[name(key="value")]`, `name(key="value")`; Gemma 4: `call:name{key:<|"|>value<|"|>}`. */
function readPython(text: string, at: number, offered: ReadonlySet<string>): Read | undefined {
  const gemma = matchAt(/call:([\w.-]+)(?=\{)/y, text, at);
  if (gemma !== undefined) {
    const head = at + gemma[0].length;
    const plain = text
      .slice(head)
      .replaceAll(/<\|"\|>([\s\S]*?)<\|"\|>|<escape>([\s\S]*?)<escape>/g, (_, a, b) =>
        JSON.stringify(a ?? b),
      );
    const read = readRelaxedJson(plain);
    if (read === undefined) return undefined;
    const end = text.length - (plain.length - read.end);
    return { calls: [{ name: bareName(gemma[1] ?? ''), input: JSON.stringify(read.value) }], end };
  }
  const head = matchAt(/\[?\s*([\w.]+)\(/y, text, at);
  if (head === undefined || !offered.has(bareName(head[1] ?? ''))) return undefined;
  const entries: [string, unknown][] = [];
  let next = at + head[0].length;
  for (;;) {
    next += matchAt(/[\s,]+/y, text, next)?.[0].length ?? 0;
    const close = matchAt(/\)\s*\]?/y, text, next);
    if (close !== undefined) {
      const input = JSON.stringify(Object.fromEntries(entries));
      return { calls: [{ name: bareName(head[1] ?? ''), input }], end: next + close[0].length };
    }
    const key = matchAt(/(\w+)\s*=\s*/y, text, next);
    const value = key && readRelaxedJson(text, next + key[0].length);
    if (key === undefined || value === undefined) return undefined;
    entries.push([key[1] ?? '', value.value]);
    next = value.end;
  }
}

/** `functions.name:0 {…}` of Kimi, `name[ARGS]{…}` of Mistral, `function<｜tool▁sep｜>name` and a fence of DeepSeek. */
function readNamed(text: string, at: number): Read | undefined {
  const head = matchAt(
    /(?:function<｜tool▁sep｜>)?([\w.-]+)(?::\d+)?\s*(?:\[CALL_ID\][\w-]*\s*)?(?:(?:\[ARGS\]|<｜tool▁sep｜>|<\|tool_call_argument_begin\|>)\s*)?(?:```\w*\s*)?(?=\{)/iy,
    text,
    at,
  );
  if (head === undefined) return undefined;
  const read = readRelaxedJson(text, at + head[0].length);
  if (read === undefined) return undefined;
  const fence = head[0].includes('```') ? (matchAt(/\s*```/y, text, read.end)?.[0].length ?? 0) : 0;
  const calls = [{ name: bareName(head[1] ?? ''), input: JSON.stringify(read.value) }];
  return { calls, end: read.end + fence };
}

/** The fields of a body that is made of nothing but these, as JSON. */
function fieldsOf(
  body: string,
  form: RegExp,
  field: (found: RegExpExecArray) => [string, string],
): string | undefined {
  const entries: [string, string][] = [];
  let at = body.length - body.trimStart().length;
  while (at < body.length) {
    const found = matchAt(form, body, at);
    if (found === undefined || found[0] === '') return undefined;
    entries.push(field(found));
    at += found[0].length;
  }
  return JSON.stringify(Object.fromEntries(entries));
}

/** The template puts a line break behind the opening tag and before the closing one. */
function unframed(value: string): string {
  return value.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
}

/** Some models put the namespace of their template before the name. */
function bareName(name: string): string {
  return name.trim().replace(/^functions?\./, '');
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | undefined {
  form.lastIndex = at;
  return form.exec(text) ?? undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
