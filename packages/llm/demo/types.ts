import type { JSONSchema7 } from '@ai-sdk/provider';

/** A tool of the request, as far as the demo model looks at it. */
export interface OfferedTool {
  name: string;
  description: string;
  schema: JSONSchema7;
}

/** A call the demo model decided on. */
export interface Call {
  tool: string;
  input: Record<string, unknown>;
}

/** The outcome of a call, read back from the prompt of the next step. */
export interface Outcome extends Call {
  result: string;
}

/** What an intent may look at besides the clause itself. */
export interface Situation {
  tools: ReadonlyMap<string, OfferedTool>;
  now: Date;
  /** Of the person, where the instructions name it. */
  zone?: string | undefined;
  /** Results of the step before, for "search X, then remember it". */
  previous: string;
}

/** Calls to make, or words to say when the wish is clear but cannot be served. */
export type Recognised = Call[] | string | undefined;

/** One thing a person may ask for. It counts only when one of its tools is in the request. */
export interface Intent {
  tools: readonly string[];
  /** Sentences that show the wish, listed under "what can you do". */
  examples: readonly string[];
  recognise(clause: string, situation: Situation): Recognised;
}
