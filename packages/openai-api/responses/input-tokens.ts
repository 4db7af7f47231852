import type { RequestMessage } from '../request.ts';
import { instructionText, type ResponseRequest } from './request.ts';

/** Around the words of each message. */
const tokensPerMessage = 4;
/** Models count a picture by its size in pixels, which nobody knows here. */
const tokensPerImage = 1000;
/** Of sound and files, whose text is not read to count it. */
const bytesPerToken = 4;

interface Counted extends Pick<ResponseRequest, 'instructions' | 'tools'> {
  messages: readonly RequestMessage[];
}

/** An estimate of what a request says itself; the service adds its own instructions and tools. */
export function inputTokens(
  { messages, tools, instructions }: Counted,
  count: (text: string) => number,
): number {
  const said = messages.map(({ content, tool_calls: calls }) => {
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }];
    const words = parts.reduce((sum, part) => sum + partTokens(part, count), 0);
    return tokensPerMessage + words + (calls === undefined ? 0 : count(JSON.stringify(calls)));
  });
  const order = instructionText({ instructions });
  const offered = (tools ?? []).map((tool) => count(JSON.stringify(tool)));
  const all = [...said, ...offered, order === '' ? 0 : tokensPerMessage + count(order)];
  return all.reduce((sum, tokens) => sum + tokens, 0);
}

function partTokens(part: object, count: (text: string) => number): number {
  const { type, text } = part as { type: string; text?: string };
  if (text !== undefined) return count(text);
  return type === 'image_url' ? tokensPerImage : Math.ceil(JSON.stringify(part).length / bytesPerToken);
}
