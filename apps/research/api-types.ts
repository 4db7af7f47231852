/** What the HTTP API answers with: the server makes these, the pages show them. */

/** What a user may choose from. `files` are the user's own, `offline` are reference works on this machine. */
export const SOURCE_KINDS = ['web', 'encyclopedia', 'files', 'offline'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export interface SourceHealth {
  name: string;
  /** How pages call it. */
  title: string;
  kind: SourceKind;
  /** `unknown` until it was asked. */
  state: 'ok' | 'failing' | 'unknown';
  words: string;
  at?: string;
}

export type JobStatus = 'running' | 'complete' | 'error' | 'cancelled';
export type JobPhase = 'scope' | 'research' | 'evaluate' | 'synthesis' | 'done';
export type DimensionState = 'planned' | 'started' | 'searched' | 'done';

/** What a job may use up; a limit that is not given does not hold. */
export interface Budget {
  seconds?: number | undefined;
  tokens?: number | undefined;
  sources?: number | undefined;
}

export interface JobSnapshot {
  researchId: string;
  status: JobStatus;
  phase: JobPhase;
  dimensionsTotal: number;
  dimensionsComplete: number;
  sourceCount: number;
  report?: string;
  query: string;
  createdAt: string;
  model: { name: string; demo: boolean };
  tokens: number;
  /** Set when some of the tokens were not counted by an endpoint but estimated. */
  estimated?: true;
  /** US dollars; null when the price of the model is not known. */
  costUsd: number | null;
  /** How long it has been worked on. */
  elapsedMs: number;
  citations?: CitationScore;
  /** Set while the job waits for an edited plan. */
  awaiting?: 'plan';
  dimensions: string[];
  /** The dimensions with how far each is, and what went wrong with it. */
  plan: { name: string; state: DimensionState; iteration: number; troubles: string[] }[];
  options: { budget: Budget; sources: readonly SourceKind[]; citations: CitationMode };
  error?: string;
  /** What went wrong with search services or the model without stopping the job. */
  warnings: string[];
  /** Sections that are not simply what the model wrote from all that was found. */
  notes: (SectionNote & { section: string })[];
  /** The path of the page that shows the report to anyone who has it. */
  share?: string;
}

/**
 * How a section came about: `extract` if its sentences are taken from the sources, `repeats` if so because the model only
 * repeated other sections, `shortened` if the model got less than there was, `summary` the same for its summary, `merged`
 * if the plan had it more than once.
 */
export interface SectionNote {
  kind: 'extract' | 'repeats' | 'shortened' | 'summary' | 'merged';
  words: string;
}

export interface CitationScore {
  /** Citations in the report. */
  total: number;
  /** Of those, the ones that their page bears out. */
  supported: number;
  /** Sentences that no page bears out and that cite none. */
  uncited: number;
  /** Citations that the language model judged. */
  byModel: number;
  /** Citations that the built-in model judged; missing in older reports. */
  byOwn?: number;
  /** Citations that nobody judged: no model is configured for it, or it did not answer. */
  unchecked?: number;
  /** The same number under its old name; in old reports those that rules judged without being sure. */
  doubtful: number;
  /** Statements that were checked; missing in older reports, as are the numbers below. */
  statements?: number;
  /** Statements by what became of them. */
  changes?: Partial<Record<ClaimChange, number>>;
  /** Why the model did not judge all that it was asked to. */
  problem?: string;
}

/** Who judged: word-by-word comparison with the page, the built-in model, the language model, or nobody (not checked). */
export type Judge = 'rules' | 'own' | 'model' | 'none';

/**
 * What became of a statement of the draft: its citation was `moved` to a source that bears it out, or `added` where it had
 * none; its words were `repaired`; it was `dropped` because nothing bears it out; it was `withheld` because it tells its
 * reader to go, pay or say something; or it cites a source that is not there, and that citation was `removed`.
 */
export type ClaimChange = 'moved' | 'added' | 'repaired' | 'dropped' | 'withheld' | 'removed';

/** Whether a report shows statements that no source bears out, with a mark, or leaves them out. */
export const CITATION_MODES = ['marked', 'strict'] as const;
export type CitationMode = (typeof CITATION_MODES)[number];

export interface Claim {
  /** A cell of a table stands here with its row and column: "Row — Column: cell". */
  sentence: string;
  sourceId: number | null;
  number: number | null;
  supported: boolean;
  judge: Judge;
  /** False where it was not checked, or the judge is not sure enough: over 98 of 100 sure verdicts are right. */
  certain: boolean;
  score: number;
  reason: string;
  passage: string;
  passageStart: number | null;
  passageEnd: number | null;
  change?: ClaimChange;
}

/** A source that a citation may lead to. */
export interface CitedSource {
  /** Of sources that claims name. */
  id?: number;
  number: number | null;
  title: string;
  url: string;
  snippet?: string;
  published?: string | null;
}

export interface JobSource {
  id: number;
  url: string;
  title: string;
  snippet: string;
  /** The name of the source that found it. */
  engine: string;
  quality: number;
  published: string | null;
  state: 'found' | 'read' | 'failed' | 'duplicate';
  documentId: number | null;
  duplicateOf: number | null;
  problem: string | null;
  /** Its number in the report. */
  number: number | null;
  /** Characters of its page or file that no visitor sees, which were left out. */
  hidden: number;
}

export interface Evidence {
  sources: JobSource[];
  claims: Claim[];
}

/** An answer of the chat after the check of its statements. */
export interface CheckedAnswer {
  /** Markdown: the answer with a mark behind every statement. */
  text: string;
  claims: Claim[];
  citations: CitationScore;
  /** The figures of each chart of the answer as a table, checked as its statements are; without claims where they were not. */
  figures?: Omit<CheckedAnswer, 'figures'>[];
}

/** A question about a report, and the answer from its stored sources. */
export interface Answer {
  id: number;
  question: string;
  /** Markdown with checked citations. */
  text: string;
  claims: Claim[];
  askedAt: string;
}

export interface SharedReport {
  query: string;
  report: string;
  citations: CitationScore | null;
  model: string;
  createdAt: string;
  sources: (CitedSource & { id: number })[];
  claims: Claim[];
}

export interface StoredFile {
  id: string;
  url: string;
  name: string;
  title: string;
  type: string;
  bytes: number;
  addedAt: string;
}
