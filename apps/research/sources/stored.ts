import type { DocumentKind } from '../store/documents.ts';
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
      // Entries of offline works are found by their own sources, which know what a question is about.
      const hits = documents
        .search(kind, text, { limit: 3 * limit, owner })
        .filter(({ url }) => !url.startsWith(offlineAddress));
      return hits.slice(0, limit).map((hit) => ({
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

/** Headings lead into what follows them. */
function plainText(snippet: string): string {
  const led = snippet.replace(/^[ \t]*#{1,6}[ \t]+(.*?)[ \t.:]*$/gm, '$1:');
  return led.replace(/\s+/g, ' ').trim();
}

/** Where a file is read on this service. */
export function fileAddress(id: number): string {
  return `/api/files/${id}`;
}
