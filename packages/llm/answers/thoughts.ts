/** How a model marks its thoughts in its text. */
export interface ThoughtTag {
  open: string;
  close: string;
  /** Only the closing mark makes sure that these were thoughts. */
  sure: boolean;
}

function tag(open: string, close: string, sure = true): ThoughtTag {
  return { open, close, sure };
}

/** All in lower case; they are compared so. */
const thoughtTags: readonly ThoughtTag[] = [
  tag('<think>', '</think>'), // DeepSeek R1, Qwen, QwQ, GLM, MiniMax, Granite 3.3
  tag('<thinking>', '</thinking>'),
  tag('<reasoning>', '</reasoning>'),
  tag('<thought>', '</thought>'), // EXAONE, Gemini by way of gateways
  tag('<seed:think>', '</seed:think>'), // Seed-OSS
  tag('[think]', '[/think]'), // Magistral
  tag('<|start_thinking|>', '<|end_thinking|>'), // Command A
  tag('<|begin_of_thought|>', '<|end_of_thought|>'), // OpenThinker
  tag('<|channel>thought', '<channel|>'), // Gemma 4
  tag('◁think▷', '◁/think▷'), // Kimi-VL
  tag('here is my thought process:', 'here is my response:', false), // Granite 3.2
];

/** Marks that close thoughts of which the template has the opening one. */
export const thoughtCloses: readonly string[] = thoughtTags
  .filter(({ sure }) => sure)
  .map(({ close }) => close);

/** gpt-oss with its special tokens left out: `analysis…assistantfinal…`. */
const bareHarmony = tag('analysis', 'assistantfinal', false);

/** The tag that a line begins with; `wait` while more has to come to tell. */
export function openerAt(line: string): ThoughtTag | 'wait' | undefined {
  const lower = line.toLowerCase();
  if (/^analysis[A-Z]/.test(line)) return bareHarmony;
  const found = thoughtTags.find(({ open }) => lower.startsWith(open));
  if (found !== undefined) return found;
  const isOpen = thoughtTags.some(({ open }) => open.length > lower.length && open.startsWith(lower));
  return isOpen || 'analysis'.startsWith(line) ? 'wait' : undefined;
}

/** Those that have a line for themselves where the template has the opening one. */
const strayTags = thoughtCloses.filter((close) => close.startsWith('</'));

/** The length of a closing tag that the line consists of; `wait` while more has to come to tell. */
export function strayClose(line: string, isEnd: boolean): number | 'wait' | undefined {
  const lower = line.toLowerCase();
  const tag = strayTags.find((each) => lower.startsWith(each));
  if (tag === undefined)
    return !isEnd && strayTags.some((each) => each.startsWith(lower)) ? 'wait' : undefined;
  const behind = line.slice(tag.length);
  if (/^[^\S\n]*$/.test(behind)) return isEnd ? tag.length : 'wait';
  return /^[^\S\n]*\n/.test(behind) ? tag.length : undefined;
}

/** Where the first of the marks begins; without one, how much of the text can be none of them. */
export function findFirst(
  text: string,
  marks: readonly string[],
  isEnd: boolean,
): { at: number; length: number } {
  const forms = marks.map((mark) => mark.replaceAll(/[|[\]]/g, '\\$&'));
  const found = new RegExp(forms.join('|'), 'i').exec(text);
  if (found !== null) return { at: found.index, length: found[0].length };
  return { at: isEnd ? text.length : text.length - openTail(text, marks), length: 0 };
}

/** Signs at the end that may be the beginning of a mark. */
export function openTail(text: string, marks: readonly string[]): number {
  const longest = Math.min(text.length, Math.max(...marks.map(({ length }) => length)) - 1);
  const lower = text.slice(text.length - longest).toLowerCase();
  for (let length = longest; length > 0; length -= 1) {
    const tail = lower.slice(-length);
    if (marks.some((mark) => mark.startsWith(tail))) return length;
  }
  return 0;
}
