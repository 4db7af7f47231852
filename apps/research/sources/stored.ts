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
        snippet: hit.snippet.replace(/\s+/g, ' ').trim(),
        engines: [kind === 'file' ? 'files' : 'pages'],
        ...(hit.published !== null && { publishedDate: hit.published }),
        documentId: hit.id,
      }));
    },
  };
}

/** Where a file is read on this service. */
export function fileAddress(id: number): string {
  return `/api/files/${id}`;
}
