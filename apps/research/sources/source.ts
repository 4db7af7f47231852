/** What a user may choose from: the web, an encyclopedia, the user's own files. */
export type SourceKind = 'web' | 'encyclopedia' | 'files';

/** One result, in the form of the contract; `documentId` where its text is stored already. */
export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
  engines?: string[];
  publishedDate?: string;
  documentId?: number;
}

export const CATEGORIES = ['general', 'social media', 'it', 'science', 'news'] as const;
type Category = (typeof CATEGORIES)[number];

export const TIME_RANGES = ['day', 'month', 'year'] as const;
type TimeRange = (typeof TIME_RANGES)[number];

export interface SearchQuery {
  text: string;
  limit: number;
  categories?: Category | undefined;
  /** How old results may be, where a source can tell. */
  timeRange?: TimeRange | undefined;
}

/** The text of a result that its own source gives, without fetching the page. */
export interface SourceText {
  title: string;
  url: string;
  text: string;
}

/** Where results come from. A failure is thrown as a `SourceError`; no result is an empty list. */
export interface Source {
  readonly name: string;
  readonly kind: SourceKind;
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchResult[]>;
  /** For sources whose API hands out the text of a result. */
  read?(result: SearchResult, signal: AbortSignal): Promise<SourceText | undefined>;
  /** Throws when the service behind it cannot be used. */
  probe?(signal: AbortSignal): Promise<void>;
}

export type SourceErrorCode = 'source_unreachable' | 'source_refused' | 'source_unreadable';

/** Why a source gave nothing, in words that name it and what to change. */
export class SourceError extends Error {
  readonly code: SourceErrorCode;

  constructor(code: SourceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
    this.code = code;
  }
}
