/** Turns texts into vectors whose angle tells how close their meanings are. */
export interface Embedder {
  /** Vectors of different models cannot be compared, so each is stored with this. */
  model: string;
  /** Vectors less alike than this are taken for unrelated. */
  leastLikeness: number;
  embed(texts: readonly string[]): Promise<number[][]>;
  close(): Promise<void>;
}

/** An embedder behind a model endpoint. */
export function endpointEmbedder(
  model: string,
  embed: (texts: readonly string[]) => Promise<number[][]>,
): Embedder {
  return { model, leastLikeness: 0.35, embed, close: async () => undefined };
}
