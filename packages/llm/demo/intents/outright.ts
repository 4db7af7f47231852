import { callOf } from '../fit.ts';
import type { Call, OfferedTool } from '../types.ts';

/** A message in which every "use tool X with {json}" is replaced by a mark that stands for its call. */
export interface Marked {
  text: string;
  /** The call behind each mark, or words about a tool that is not there or arguments that cannot be read. */
  wishes: (Call | string)[];
}

const naming =
  /\b(?:use|call|run|invoke)\s+(?:the\s+)?tool\s+[`"']?([\w.:/-]*\w)[`"']?(?:\s+(?:with|on|using)(?:\s+(?:arguments|input))?:?\s*(?=\{))?/gi;
const mark = /\[\[call (\d+)\]\]/g;

export function markOutrightCalls(text: string, tools: ReadonlyMap<string, OfferedTool>): Marked {
  const marked: Marked = { text: '', wishes: [] };
  let end = 0;
  for (const match of text.matchAll(naming)) {
    if (match.index < end) continue;
    const start = match.index + match[0].length;
    const json = jsonAt(text, start);
    marked.text += `${text.slice(end, match.index)}[[call ${marked.wishes.length}]]`;
    marked.wishes.push(wishOf(match[1] ?? '', json, tools));
    end = start + json.length;
  }
  marked.text += text.slice(end);
  return marked;
}

/** The wishes marked in a part of the message, and that part without the marks. */
export function takeMarks(part: string, { wishes }: Marked): { wishes: (Call | string)[]; rest: string } {
  const found = [...part.matchAll(mark)].flatMap((match) => wishes[Number(match[1])] ?? []);
  return { wishes: found, rest: part.replace(mark, '. ').replace(/^[\s.]+/, '') };
}

function wishOf(name: string, json: string, tools: ReadonlyMap<string, OfferedTool>): Call | string {
  const tool = tools.get(name);
  if (tool === undefined) {
    const known = tools.size === 0 ? 'no tools at all' : [...tools.keys()].join(', ');
    return `I have no tool named "${name}" here. I have: ${known}.`;
  }
  if (json === '') return callOf(tool, {});
  const input = parseObject(json);
  return input === undefined
    ? `The arguments for ${name} are not valid JSON, so I did not call it.`
    : { tool: name, input };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** The text of the JSON object that starts here, braces inside strings not counted; empty when none starts. */
function jsonAt(text: string, start: number): string {
  if (text[start] !== '{') return '';
  let depth = 0;
  for (const token of text.slice(start).matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token[0] === '{') depth += 1;
    if (token[0] === '}') depth -= 1;
    if (depth === 0) return text.slice(start, start + token.index + 1);
  }
  return text.slice(start);
}
