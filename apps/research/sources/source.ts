import type { Option } from '@trunkline/config';
import type { ExtractionPool } from '@trunkline/documents';
import type { SourceKind } from '../api-types.ts';
import type { DocumentStore } from '../store/documents.ts';

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
  /** Whose stored texts are searched, beside those of nobody. */
  owner?: string;
  categories?: Category | undefined;
  /** How old results may be, where a source can tell. */
  timeRange?: TimeRange | undefined;
}

/** The text of a result that its own source gives, without fetching the page. */
export interface SourceText {
  title: string;
  url: string;
  text: string;
  /** Characters of the main part, with which the text begins; all of it when not given. */
  mainLength?: number;
  /** False where the API leaves parts of the page out; true when not given. */
  isWhole?: boolean;
}

/** Where results come from. A failure is thrown as a `SearchError`; no result is an empty list. */
export interface SourceClient {
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchResult[]>;
  /** For sources whose API hands out the text of a result. */
  read?(result: SearchResult, signal: AbortSignal): Promise<SourceText | undefined>;
  /** Throws when the service behind it cannot be used. */
  probe?(signal: AbortSignal): Promise<void>;
}

export interface SourceDeps {
  documents: DocumentStore;
  /** Reads pages that come as HTML or as files. */
  pool: ExtractionPool;
  /** How long a search service may take to answer. */
  timeoutMs: number;
}

/** All that the service knows of a source: its options, how it is made, and what pages, health and jobs say of it. */
export interface SourceDefinition<Options extends OptionFields = OptionFields> {
  /** How events, health and stored jobs call it. */
  name: string;
  /** How pages call it. */
  title: string;
  kind: SourceKind;
  options: Options;
  /** Used only where no other source of its kind is configured. */
  isFallback?: boolean;
  /** Its publisher is trusted more than an unknown page. */
  isReference?: boolean;
  /** Left alone for a while after it could not be reached. */
  restsWhenUnreachable?: boolean;
  /** Where nothing was found, in words: "your files". */
  place?: string;
  /** What to set up where it is not configured. */
  missing?: { what: string; variable: string; hint: string };
  /** The source, or undefined where it is not configured. */
  create(options: OptionValues<Options>, deps: SourceDeps): SourceClient | undefined;
}

type OptionFields = Readonly<Record<string, Option<unknown>>>;
type OptionValues<Options extends OptionFields> = {
  readonly [Key in keyof Options]: Options[Key] extends Option<infer Value> ? Value : never;
};

/** Types the options that `create` gets by the options of the definition. */
export function defineSource<const Options extends OptionFields>(
  definition: SourceDefinition<Options>,
): SourceDefinition<Options> {
  return definition;
}
