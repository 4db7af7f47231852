import type { Principal } from '@trunkline/identity';
import type { TokenCounts, Tool } from '@trunkline/llm';
import type { LanguageModel, ModelMessage } from 'ai';

/** A model object of the AI SDK; a bare name would reach for a provider of the SDK's own. */
type Model = Exclude<LanguageModel, string>;

export interface TurnLimits {
  /** Calls of the model. */
  steps: number;
  /** Time of one tool call, unless the tool has a limit of its own. */
  toolTimeoutMs: number;
  /** Time from start or resumption to the end of the turn. */
  turnTimeoutMs: number;
  /** Tokens of all steps together; checked before each step. */
  tokens?: number;
  /** Dollars of all steps together; checked before each step, and only where prices are known. */
  costUsd?: number;
}

export interface CompactionOptions {
  /** The model that writes the summary; a fast one will do. */
  model: Model;
  /** Estimated size of the conversation beyond which it is compacted. */
  tokens: number;
  /** At most this many of the newest messages stay as they are. */
  keepMessages: number;
}

export interface TurnOptions {
  model: Model;
  instructions: string;
  tools: readonly Tool[];
  limits: TurnLimits;
  sessionId: string;
  /** On whose behalf the turn runs: its tools are told. Anonymous when not given. */
  principal?: Principal | undefined;
  /** Whose memories its tools may use. */
  scope?: string | undefined;
  signal?: AbortSignal;
  compaction?: CompactionOptions;
  /** Dollars for a call of the named model, undefined when not known. */
  cost?: (model: string, tokens: TokenCounts) => number | undefined;
}

export interface RunTurnOptions extends TurnOptions {
  messages: readonly ModelMessage[];
}

export interface ResumeTurnOptions extends TurnOptions {
  /** A checkpoint as it was stored. */
  checkpoint: unknown;
  answer: string;
}
