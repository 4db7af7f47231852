const VOCABULARY = 20_000;
const WORDS_PER_CHUNK = 24;

/** Texts whose words are as unevenly frequent as in real ones; the same in every run. */
export function corpus(count: number): string[] {
  const random = createRandom(1);
  return Array.from({ length: count }, () =>
    Array.from({ length: WORDS_PER_CHUNK }, () => word(frequent(random()))).join(' '),
  );
}

/** Two or three words each, neither the most common nor the rarest. */
export function queries(count: number): string[] {
  const random = createRandom(2);
  return Array.from({ length: count }, (_, index) =>
    Array.from({ length: 2 + (index % 2) }, () => word(50 + Math.floor(random() * 5000))).join(' '),
  );
}

/** A rank whose frequency falls with the rank, as Zipf found it. */
function frequent(chance: number): number {
  return Math.floor(VOCABULARY ** chance) - 1;
}

/** A pronounceable word for a number. */
function word(rank: number): string {
  const syllables = [
    'ba',
    'ce',
    'di',
    'fo',
    'gu',
    'ha',
    'je',
    'ki',
    'lo',
    'mu',
    'na',
    'pe',
    'ri',
    'so',
    'tu',
    'va',
    'we',
    'xi',
    'yo',
    'zu',
  ];
  let text = '';
  for (let rest = rank + 400; rest > 0; rest = Math.floor(rest / 20)) text += syllables[rest % 20];
  return text;
}

/** A small generator with a seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
