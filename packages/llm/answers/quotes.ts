import type { LanguageModelV4Prompt } from '@ai-sdk/provider';

/** What is left of a call when its spelling is taken away: letters and digits. */
function squeezed(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Whether a block of calls stands in what the model was shown by its tools or by others. A page may hold a call in the
 * hope that the model repeats it; what is repeated is a quotation, however it is spelled.
 */
export function createQuoteCheck(prompt: LanguageModelV4Prompt): (block: string) => boolean {
  let shown: string | undefined;
  return (block) => {
    shown ??= squeezed(shownIn(prompt));
    const words = squeezed(block.replaceAll(/<[^<>]{0,60}>|\[\/?[A-Z_]+\]/g, ''));
    return shown.includes(squeezed(block)) || (words.length >= shortest && shown.includes(words));
  };
}

/** Shorter ones say too little to be told apart from chance. */
const shortest = 12;

function shownIn(prompt: LanguageModelV4Prompt): string {
  const texts = prompt.flatMap(({ role, content }): string[] => {
    if (role === 'tool')
      return content.map((part) => (part.type === 'tool-result' ? JSON.stringify(part.output) : ''));
    if (role !== 'user') return [];
    return content.flatMap((part) =>
      part.type === 'text' && part.text.includes('<outside-') ? [part.text] : [],
    );
  });
  return texts.join('\n').replaceAll('\\n', '\n').replaceAll('\\"', '"');
}
