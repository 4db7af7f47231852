/** A text with its vector, and what is known about it. */
export interface VectorPoint {
  /** What it is a part of, and which: stored once under both. */
  source: string;
  part: number;
  vector: readonly number[];
  text: string;
  /** Where it comes from, in words for a model. */
  origin: string;
  at: number;
}

export interface VectorMatch {
  text: string;
  origin: string;
  at: number;
  /** Of 0 to 1. */
  score: number;
}

/** Where vectors are kept and looked up. */
export interface VectorStore {
  put(points: readonly VectorPoint[], signal: AbortSignal): Promise<void>;
  /** Removes the parts of a source from this one on, when it has become shorter. */
  trim(source: string, parts: number, signal: AbortSignal): Promise<void>;
  search(vector: readonly number[], limit: number, signal: AbortSignal): Promise<VectorMatch[]>;
}
