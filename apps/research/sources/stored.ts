import type { DocumentKind, DocumentStore } from '../store/documents.ts';
import type { Source } from './source.ts';

/** Searches what is stored here: the user's files, or the pages that were read before. */
export function createStored(documents: DocumentStore, kind: DocumentKind): Source {
  return {
    name: kind === 'file' ? 'files' : 'pages',
    kind: kind === 'file' ? 'files' : 'web',
    async search({ text, limit }) {
      return documents.search(kind, text, limit).map((hit) => ({
        title: hit.title,
        url: kind === 'file' ? fileAddress(hit.id) : hit.url,
        snippet: plainWords(hit.snippet),
        engines: [kind === 'file' ? 'files' : 'pages'],
        ...(hit.published !== null && { publishedDate: hit.published }),
        documentId: hit.id,
      }));
    },
  };
}

/** Headings lead into what follows them. */
function plainWords(snippet: string): string {
  const led = snippet.replace(/^[ \t]*#{1,6}[ \t]+(.*?)[ \t.:]*$/gm, '$1:');
  return led.replace(/\s+/g, ' ').trim();
}

/** Where a file is read on this service. */
export function fileAddress(id: number): string {
  return `/api/files/${id}`;
}
