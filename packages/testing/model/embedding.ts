import { createHash } from 'node:crypto';
import { tokenEstimate } from './completion.ts';

interface EmbeddingRequestBody {
  model: string;
  input: string | string[];
  dimensions?: number;
}

const defaultDimensions = 64;

/** Answers an embeddings request with vectors that depend on nothing but the text. */
export function embeddingBody(request: EmbeddingRequestBody) {
  const texts = [request.input].flat();
  const tokens = tokenEstimate(texts.join(''));
  return {
    object: 'list',
    model: request.model,
    data: texts.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: wordVector(text, request.dimensions ?? defaultDimensions),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Unit vector of a bag of hashed words: texts that share words lie close together. */
function wordVector(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const digest = createHash('sha256').update(word).digest();
    const place = digest.readUInt32LE(0) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
