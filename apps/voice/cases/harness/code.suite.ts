// Words as sound that a program can read: every word has a level of its own. Coughs and noise have levels without words.
const rate = 16_000;
/** Within 8 dB: the same caller says all of them. */
const firstWord = 13_000;
const wordLevels = 19_000;
const coughLevel = 9000;
const noiseLevel = 300;
const gapSamples = rate / 100;

const levels = new Map<string, number>();
const words = new Map<number, string>();

function levelOf(word: string): number {
  const known = levels.get(word);
  if (known !== undefined) return known;
  if (levels.size >= wordLevels) throw new Error('too many words for this code');
  let place = hashOf(word) % wordLevels;
  while (words.has(firstWord + place)) place = (place + 1) % wordLevels;
  levels.set(word, firstWord + place);
  words.set(firstWord + place, word);
  return firstWord + place;
}

/** FNV-1a: a word sounds the same whatever was said before it in other tests, and otherwise than the next. */
function hashOf(word: string): number {
  let value = 0x811c9dc5;
  for (const letter of word) value = Math.imul(value ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return value >>> 0;
}

function wordSamples(word: string): number {
  return Math.round(((90 + 45 * word.length) * rate) / 1000);
}

/** The sound of a text, one word after the other. */
export function speechOf(text: string): Int16Array {
  const parts = text
    .split(/\s+/)
    .filter((word) => word !== '')
    .flatMap((word) => [new Int16Array(wordSamples(word)).fill(levelOf(word)), new Int16Array(gapSamples)]);
  return joined(parts);
}

export function silenceOf(ms: number): Int16Array {
  return soundOf(ms, 0);
}

export function coughOf(ms: number): Int16Array {
  return soundOf(ms, coughLevel);
}

export function noiseOf(ms: number): Int16Array {
  return soundOf(ms, noiseLevel);
}

/** The words that are at least half over. */
export function textIn(samples: Float32Array): string {
  const found: string[] = [];
  let [level, length] = [0, 0];
  const finish = () => {
    const word = words.get(level);
    if (word !== undefined && length >= wordSamples(word) / 2) found.push(word);
  };
  for (const sample of samples) {
    const next = Math.round(sample * 2 ** 15);
    if (next !== level) {
      finish();
      [level, length] = [next, 0];
    }
    length += 1;
  }
  finish();
  return found.join(' ');
}

/** How sure a detector would be that somebody speaks. */
export function activityIn(samples: Float32Array): number {
  let [voiced, coughed] = [0, 0];
  for (const sample of samples) {
    const level = Math.abs(sample * 2 ** 15);
    if (level > coughLevel) voiced += 1;
    if (level > coughLevel - 1) coughed += 1;
  }
  if (voiced > samples.length / 4) return 0.95;
  // A cough has something of a voice.
  return coughed > samples.length / 4 ? 0.7 : 0.05;
}

function soundOf(ms: number, level: number): Int16Array {
  return new Int16Array((ms * rate) / 1000).fill(level);
}

function joined(parts: Int16Array[]): Int16Array {
  const all = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
