import type { CitedSource } from '../../api-types.ts';
import type { ChatPart } from './chatStream.ts';

export interface ChatMessage {
  role: 'user' | 'assistant';
  content: string;
  sources?: CitedSource[];
  /** Which services could not be asked, in words. */
  troubles?: string[];
  /** What was searched for, while the answer is made. */
  searches?: string[];
  /** Why the answer broke off. */
  error?: string;
}

/** The answer after one more part of the stream. */
export function withPart(answer: ChatMessage, part: ChatPart): ChatMessage {
  switch (part.type) {
    case 'text':
      return { ...answer, content: answer.content + part.text };
    case 'tool':
      return {
        ...answer,
        searches: [...(answer.searches ?? []), part.query],
        sources: merged(answer.sources ?? [], part.results),
        troubles: part.troubles,
      };
    case 'question':
      return { ...answer, content: part.question };
    case 'error':
      return { ...answer, error: part.message };
    default:
      return answer;
  }
}

/** Each number once; a later search may find the same page again. */
function merged(known: readonly CitedSource[], more: readonly CitedSource[]): CitedSource[] {
  return [...new Map([...known, ...more].map((source) => [source.number, source])).values()];
}

/** Some models end with a list of sources of their own, which stands beside the answer already. */
export function withoutSourceList(text: string): string {
  return text
    .replace(
      /(?:\n+(?:\*{0,2}(?:Sources|References):?\*{0,2}\s*)?(?:\n*\s*(?:[-*]\s*)?\[?\d{1,3}[\].)]\s.*https?:\/\/\S+)+)\s*$/,
      '',
    )
    .trimEnd();
}

/** The sources that the answer cites; all that were found when it cites none. */
export function citedBy(content: string, sources: readonly CitedSource[]): CitedSource[] {
  const cited = new Set([...content.matchAll(/\[(\d{1,3})\]/g)].map(([, number]) => Number(number)));
  const found = sources.filter(({ number }) => number !== null && cited.has(number));
  return found.length > 0 ? found : [...sources];
}
