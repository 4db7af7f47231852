import type { DocumentHit, DocumentKind } from '../store/documents.ts';
import { contentStems } from '../text/words.ts';
import { offlineAddress } from './offline.ts';
import { defineSource, type SourceClient, type SourceDeps } from './source.ts';

/** The user's own files. */
export const files = defineSource({
  name: 'files',
  title: 'Your files',
  kind: 'files',
  place: 'your files',
  options: {},
  create: (_options, deps) => storedClient(deps, 'file'),
});

/** Pages that were read before; they stand in where no web search is configured. */
export const pages = defineSource({
  name: 'pages',
  title: 'Pages read before',
  kind: 'web',
  isFallback: true,
  place: 'the pages read before',
  options: {},
  create: (_options, deps) => storedClient(deps, 'page'),
});

function storedClient({ documents }: SourceDeps, kind: DocumentKind): SourceClient {
  return {
    async search({ text, limit, owner }) {
      const hits = documents.search(kind, text, { limit: 3 * limit, owner });
      const wanted = kind === 'file' ? hits : hits.filter(bearingOn(text));
      return wanted.slice(0, limit).map((hit) => ({
        title: hit.title,
        url: kind === 'file' ? fileAddress(hit.id) : hit.url,
        snippet: plainText(hit.snippet),
        engines: [kind === 'file' ? 'files' : 'pages'],
        ...(hit.published !== null && { publishedDate: hit.published }),
        documentId: hit.id,
      }));
    },
  };
}

/** Words that ask, and say nothing about what a page is to be about. */
const ASKING = new Set(
  stemsOf('tell explain describe define mean meaning compare find show give list please know'),
);

/**
 * Whether a page that was read for another question bears on this one: it must have half of the words, two at least, and
 * one of the names, where the question has any. Germany's page is no answer about the capital of Peru.
 */
function bearingOn(question: string): (hit: DocumentHit) => boolean {
  const stems = [...new Set(stemsOf(question))].filter((stem) => !ASKING.has(stem));
  const needed = Math.max(Math.min(2, stems.length), Math.ceil(stems.length / 2));
  const names = namesIn(question);
  return ({ url, title, part }) => {
    // Entries of offline works are found by their own sources, which know what a question is about.
    if (url.startsWith(offlineAddress)) return false;
    const found = new Set(stemsOf(`${title}\n${part}`));
    const isNamed = names.length === 0 || names.some((name) => found.has(name));
    return isNamed && stems.filter((stem) => found.has(stem)).length >= needed;
  };
}

/** The stems of words with a capital letter, but for those that begin a sentence. */
function namesIn(question: string): string[] {
  const inner = question.split(/[.!?:]\s+/).flatMap((sentence) => sentence.trim().split(/\s+/).slice(1));
  return stemsOf(inner.filter((word) => /^[^\p{L}\p{N}]*\p{Lu}/u.test(word)).join(' '));
}

/** Accents do not count, as they do not in the index. */
function stemsOf(text: string): string[] {
  const plain = text.normalize('NFD').replace(/(\p{Script=Latin})\p{M}+/gu, '$1');
  return contentStems(plain.normalize('NFC'));
}

/** Headings lead into what follows them. */
function plainText(snippet: string): string {
  const led = snippet.replace(/^[ \t]*#{1,6}[ \t]+(.*?)[ \t.:]*$/gm, '$1:');
  return led.replace(/\s+/g, ' ').trim();
}

/** Where a file is read on this service. */
export function fileAddress(id: number): string {
  return `/api/files/${id}`;
}
