import { SearchError } from '@trunkline/tools';
import { SourceError } from './source.ts';

const CODES = {
  search_refused: 'source_refused',
  search_unreachable: 'source_unreachable',
  search_unreadable: 'source_unreadable',
} as const;

/** Throws the failure of a search engine as that of a source, and any other as it is. */
export function asSourceError(error: unknown): never {
  if (!(error instanceof SearchError)) throw error;
  throw new SourceError(CODES[error.code], error.message, { cause: error });
}
