import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { TextCall } from './text-calls.ts';

/** Shorter ones say too little to be told apart from chance. */
const shortest = 12;

/** Letters and digits that a form of calls may have between a key and its value. */
const widestGap = 60;

/**
 * Whether a call stands in what the model was shown by its tools or by others. A page may hold a call in the hope that
 * the model repeats it; what is repeated is a quotation, however it is spelled.
 */
export function createQuoteCheck(prompt: LanguageModelV4Prompt): (call: TextCall) => boolean {
  let shown: string | undefined;
  return ({ name, input, written }) => {
    shown ??= spellings(shownIn(prompt)).join('\n');
    const text = shown;
    if (spellings(written).some((each) => each.length >= shortest && text.includes(each))) return true;
    const words = [name, ...stringsIn(readInput(input))].map(squeezed).filter((word) => word !== '');
    return words.join('').length >= shortest && standsIn(text, words);
  };
}

/** What is left of a text when its spelling is taken away: letters and digits, as they are and with escapes read. */
function spellings(text: string): string[] {
  const once = unescaped(text);
  return [...new Set([text, once, unescaped(once)])].map(squeezed);
}

function squeezed(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-f]{4})|([\s\S]))/gi, (_, code?: string, sign = '') => {
    if (code !== undefined) return String.fromCharCode(parseInt(code, 16));
    return /[bfnrt]/.test(sign) ? ' ' : sign;
  });
}

/** Whether the words stand there in this order, each close behind the one before. */
function standsIn(text: string, [first = '', ...others]: readonly string[]): boolean {
  for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, at + 1)) {
    let end = at + first.length;
    const isThere = others.every((word) => {
      const gap = text.slice(end, end + widestGap + word.length).indexOf(word);
      end += gap + word.length;
      return gap >= 0;
    });
    if (isThere) return true;
  }
  return false;
}

function readInput(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    // Arguments that break off are compared as they are written.
    return input;
  }
}

/** Keys and values in their order. */
function stringsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.entries(value).flatMap(([key, field]) => [key, ...stringsIn(field)]);
}

function shownIn(prompt: LanguageModelV4Prompt): string {
  const texts = prompt.flatMap(({ role, content }): string[] => {
    if (role === 'system') return [];
    return content.flatMap((part) => {
      if (part.type === 'tool-result') return stringsIn(part.output);
      return role === 'user' && part.type === 'text' && part.text.includes('<outside-') ? [part.text] : [];
    });
  });
  return texts.join('\n');
}
