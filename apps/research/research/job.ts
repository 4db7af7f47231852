import type { Principal } from '@trunkline/identity';
import type {
  Budget,
  CitationMode,
  CitationScore,
  DimensionState,
  JobPhase,
  JobStatus,
  SectionNote,
  SourceKind,
} from '../api-types.ts';

export interface JobOptions {
  /** Wait for the user's word on the dimensions before researching them. */
  reviewPlan: boolean;
  budget: Budget;
  domains: DomainLists;
  sources: readonly SourceKind[];
  /** What becomes of statements that no source bears out. Missing in jobs of earlier releases: they are marked. */
  citations?: CitationMode;
}

export interface Job {
  id: string;
  query: string;
  sessionId: string | null;
  options: JobOptions;
  status: JobStatus;
  phase: JobPhase;
  /** The pass of research and evaluation that is under way, from 1. */
  iteration: number;
  /** Nothing more will happen to it. */
  closed: boolean;
  awaitingPlan: boolean;
  tokens: number;
  /** Some of the tokens were not counted by an endpoint but estimated. */
  isEstimated: boolean;
  /** How long it has been worked on, as far as it is written down. */
  spentMs: number;
  /** US dollars; null when the price of a model that was asked is not known. */
  costUsd: number | null;
  error: string | null;
  report: string | null;
  citations: CitationScore | null;
  model: { name: string; demo: boolean };
  /** Who may see it, as a key. */
  owner: string;
  /** On whose behalf it searches and spends. */
  principal: Principal;
  createdAt: number;
}

/** Characters of a dimension's name, and of a query for it. */
export const LONGEST_NAME = 300;

export interface PlannedDimension {
  name: string;
  queries: string[];
  /** Names of points of the plan that say the same and are researched here. */
  merged?: string[];
}

export function mergedNote(names: readonly string[]): SectionNote {
  const quoted = names.map((name) => `“${name}”`).join(', ');
  return { kind: 'merged', words: `The plan has this point more than once, also as ${quoted}.` };
}

export interface Dimension extends PlannedDimension {
  position: number;
  iteration: number;
  state: DimensionState;
  summary: string;
  keyFinding: string;
  /** What went wrong with which search service, in words. */
  troubles: string[];
}

/** A stretch of a text and how much it has to do with a question. */
export interface Passage {
  text: string;
  score: number;
}

/** An event of a job as clients get it. */
export interface ResearchEvent {
  type: string;
  data?: unknown;
  timestamp: string;
}

export interface NewEvent {
  type: string;
  data?: unknown;
}

/** Which hosts may be read: with an allow list only those, and never those of the deny list; subdomains count. */
export interface DomainLists {
  allow: readonly string[];
  deny: readonly string[];
  /** The operator's allow list, which holds beside the job's own. */
  operatorAllow?: readonly string[];
}

/** A job's lists under the operator's: what the operator denies or does not allow stays closed whatever the job allows. */
export function withinOperatorLists({ allow, deny }: DomainLists, own: DomainLists): DomainLists {
  return {
    allow: allow.length > 0 ? allow : own.allow,
    deny: [...new Set([...own.deny, ...deny])],
    operatorAllow: own.allow,
  };
}

/** The user's own files and offline works have no host and are always allowed. */
export function isAllowed(url: string, { allow, deny, operatorAllow = [] }: DomainLists): boolean {
  const host = URL.parse(url)?.hostname.toLowerCase();
  if (host === undefined) return true;
  if (deny.some((domain) => isBelow(host, domain))) return false;
  return [allow, operatorAllow].every(
    (domains) => domains.length === 0 || domains.some((domain) => isBelow(host, domain)),
  );
}

function isBelow(host: string, domain: string): boolean {
  const plain = domain
    .trim()
    .toLowerCase()
    .replace(/^(?:\*?\.|https?:\/\/)/, '')
    .replace(/\/.*$/, '');
  return host === plain || host.endsWith(`.${plain}`);
}
