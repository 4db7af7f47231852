import model from '../../models/backchannel/backchannel.json' with { type: 'json' };

// What a few words mean that somebody says over the bot, in any language: a model of their letters
// (models/backchannel, trained by training/backchannel/train.ts). Long texts are not for it.

/** Probabilities from 0 to 1. Words of a language that the model has not learnt are mostly neither. */
export interface PhraseMeaning {
  /** They only show that somebody listens: "mhm", "yeah, right", "ach so". */
  acknowledgement: number;
  /** They are meant to stop the one who speaks, to refuse or to correct: "stop", "nein", "un momento". */
  order: number;
}

export interface PhraseWeights {
  constants: readonly number[];
  /** By hash of a feature, for acknowledgements and for orders in turn. */
  values: ArrayLike<number>;
}

export const phraseBuckets = 16_384;
const longestPiece = 3;

const trained: PhraseWeights = {
  constants: model.constants,
  values: Array.from(Buffer.from(model.weights, 'base64'), (byte) => ((byte << 24) >> 24) * model.scale),
};

export function phraseMeaning(text: string, { constants, values } = trained): PhraseMeaning {
  const features = phraseFeatures(text);
  const chance = (output: number) => {
    const sum = features.reduce(
      (total, { bucket, value }) => total + value * (values[2 * bucket + output] ?? 0),
      constants[output] ?? 0,
    );
    return 1 / (1 + Math.exp(-sum));
  };
  return features.length === 0
    ? { acknowledgement: 0, order: 0 }
    : { acknowledgement: chance(0), order: chance(1) };
}

/** Each word and its runs of up to three letters, in equal shares of the words; the whole, and its length. */
export function phraseFeatures(text: string): { bucket: number; value: number }[] {
  const words = wordsIn(text);
  if (words.length === 0) return [];
  const share = 1 / words.length;
  const ofWords = words.flatMap((word) => {
    const letters = [...`^${word.normalize('NFC').replace(/(.)\1{2,}/gu, '$1$1')}$`];
    const pieces = letters.flatMap((_, start) =>
      Array.from({ length: longestPiece }, (_piece, more) => letters.slice(start, start + more + 1).join('')),
    );
    return [letters.join(''), ...new Set(pieces)].map((piece) => ({ bucket: bucketOf(piece), value: share }));
  });
  const sizes = [`#${Math.min(words.length, 4)}`, `length ${Math.min(words.join('').length >> 2, 4)}`];
  const ofAll = words.length === 1 ? sizes : [...sizes, words.join(' ')];
  return [...ofWords, ...ofAll.map((feature) => ({ bucket: bucketOf(feature), value: 1 }))];
}

/** The words of a text in lower case, without punctuation. */
export function wordsIn(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replace(/[’']/g, '')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  );
}

/** FNV-1a over UTF-8. */
function bucketOf(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value % phraseBuckets;
}
