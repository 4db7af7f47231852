export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
}

/** Where results come from. A failure is thrown as a `SearchError` whose words name the engine. */
export interface SearchEngine {
  search(query: string, limit: number, signal: AbortSignal): Promise<SearchResult[]>;
}

export type SearchErrorCode = 'search_refused' | 'search_unreachable' | 'search_unreadable';

/** Why a search gave nothing; the words say what to do. */
export class SearchError extends Error {
  readonly code: SearchErrorCode;

  constructor(code: SearchErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SearchError';
    this.code = code;
  }
}
