// Trains the model that tells "mhm" from "stop" in any language (apps/voice/call/turns/short-phrase.ts).
//
// usage: node train.ts [TURNS.jsonl] [--write]
//
// data/LANGUAGE.txt lists acknowledgements, orders and other short phrases; the first words of the turns that
// ../turns/turns.py makes are other phrases too. Prints how well languages do of which the model saw nothing, then
// test.txt. --write stores the model.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import {
  phraseBuckets as buckets,
  type PhraseWeights,
  phraseFeatures,
  phraseMeaning,
  wordsIn,
} from '../../apps/voice/call/turns/short-phrase.ts';

interface Example {
  text: string;
  language: string;
  kind: string;
  weight: number;
}

const [steps, rate, decay] = [30, 0.3, 2e-4];
/** So that listed ones are learnt beside many other words. */
const acknowledgementWeight = 1.2;
/** As in a call: `interruption.ts`. */
const sure = 0.75;

const here = new URL('.', import.meta.url);
const listed = readdirSync(new URL('data/', here)).flatMap((file) =>
  examplesOf(readFileSync(new URL(`data/${file}`, here), 'utf8'), file.slice(0, 2)),
);
const test = examplesOf(readFileSync(new URL('test.txt', here), 'utf8'));
const [turnsFile] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const beginnings = turnsFile === undefined ? [] : beginningsOf(readFileSync(turnsFile, 'utf8'));
const words = wordsOf(readFileSync(new URL('../../apps/voice/models/end-of-turn/words.txt', here), 'utf8'));
console.log(`${listed.length} phrases, ${beginnings.length} beginnings of turns, ${words.length} words`);

for (const language of new Set(listed.map((example) => example.language))) {
  const kept = [...listed, ...beginnings, ...words].filter((example) => example.language !== language);
  const known = new Set(kept.map(({ text }) => text));
  const unseen = listed.filter((example) => example.language === language && !known.has(example.text));
  report(`without ${language}`, trained(kept), unseen);
}
const weights = trained([...listed, ...beginnings, ...words]);
report('listed', weights, listed);
for (const language of new Set(test.map((example) => example.language)))
  report(
    `test ${language}`,
    weights,
    test.filter((example) => example.language === language),
  );
report('test', weights, test);
if (process.argv.includes('--write')) write(weights);

function examplesOf(file: string, language = ''): Example[] {
  return file
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [head = '', phrases = ''] = line.split(': ');
      const words = head.split(' ');
      const kind = words.at(-1) ?? '';
      return phrases.split(', ').map((text) => ({
        text: wordsIn(text).join(' '),
        language: language === '' ? (words[0] ?? '') : language,
        kind,
        weight: kind === 'acknowledgements' ? acknowledgementWeight : 1,
      }));
    });
}

/** The first one to three words of turns: what a transcript shows when an interruption begins. Rare ones count less. */
function beginningsOf(file: string): Example[] {
  const acknowledged = new Set(
    listed.filter(({ kind }) => kind === 'acknowledgements').map(({ text }) => text),
  );
  const counts = new Map<string, number>();
  for (const line of file.split('\n').filter(Boolean)) {
    const { language, words } = JSON.parse(line) as { language: string; words: string[] };
    for (const length of [1, 2, 3]) {
      const text = wordsIn(words.slice(0, length).join(' ')).join(' ');
      if (words.length > length && !acknowledged.has(text))
        counts.set(`${language} ${text}`, (counts.get(`${language} ${text}`) ?? 0) + 1);
    }
  }
  return [...counts]
    .filter(([, count]) => count >= 8)
    .map(([key]) => ({ language: key.slice(0, 2), text: key.slice(3), kind: 'others', weight: 0.1 }));
}

/** Every third word that has a vector in the end-of-turn model, mostly English: whatever is not listed is no acknowledgement. */
function wordsOf(file: string): Example[] {
  const known = new Set(listed.map(({ text }) => text));
  return file
    .split('\n')
    .filter((word, index) => index % 3 === 0 && word !== '' && !known.has(word))
    .map((text) => ({ text, language: 'any', kind: 'others', weight: 0.1 }));
}

/** Logistic regression with AdaGrad. A fifth of what is seen is hidden each time, so that no single feature decides. */
function trained(examples: readonly Example[]): PhraseWeights {
  const values = new Float64Array(2 * buckets);
  const seen = new Float64Array(2 * buckets).fill(1e-3);
  const constants = [0, 0];
  let seed = 7;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const prepared = examples.map((example) => ({ ...example, features: phraseFeatures(example.text) }));
  for (let step = 0; step < steps; step += 1) {
    for (const { features, kind, weight } of prepared.toSorted(() => random() - 0.5)) {
      const shown = features.filter(() => random() > 0.2);
      for (const [output, wanted] of ['acknowledgements', 'orders'].entries()) {
        const sum = shown.reduce(
          (total, { bucket, value }) => total + value * (values[2 * bucket + output] ?? 0),
          constants[output] ?? 0,
        );
        const error = weight * ((kind === wanted ? 1 : 0) - 1 / (1 + Math.exp(-sum)));
        constants[output] = (constants[output] ?? 0) + 0.002 * error;
        for (const { bucket, value } of shown) {
          const at = 2 * bucket + output;
          const slope = error * value - decay * (values[at] ?? 0);
          seen[at] = (seen[at] ?? 0) + slope * slope;
          values[at] = (values[at] ?? 0) + (rate * slope) / Math.sqrt(seen[at] ?? 1);
        }
      }
    }
  }
  return { constants, values };
}

function report(name: string, weights: PhraseWeights, examples: readonly Example[]): void {
  const judged = examples.map((example) => ({ ...example, ...phraseMeaning(example.text, weights) }));
  const dropped = ({ acknowledgement, order }: (typeof judged)[number]) =>
    acknowledgement >= sure && order < 1 - sure;
  const share = (kind: string, holds: (example: (typeof judged)[number]) => boolean) => {
    const all = judged.filter((example) => example.kind === kind);
    return `${all.filter(holds).length} of ${all.length}`;
  };
  console.log(
    `${name}: acknowledgements known ${share('acknowledgements', dropped)}; taken for one: orders ${share('orders', dropped)}, ` +
      `others ${share('others', dropped)}; orders known ${share('orders', ({ order }) => order >= 0.5)}, others taken for one ${share('others', ({ order }) => order >= 0.5)}`,
  );
  const wrong = judged.filter((example) => dropped(example) && example.kind !== 'acknowledgements');
  if (wrong.length > 0) console.log(`  ${wrong.map(({ text }) => text).join(', ')}`);
}

/** One byte for each weight. */
function write({ constants, values }: PhraseWeights): void {
  const largest = Math.max(...Array.from(values, Math.abs));
  const scale = largest / 127;
  const bytes = Buffer.from(Int8Array.from(values, (value) => Math.round(value / scale)).buffer);
  const stored = { constants, scale, weights: bytes.toString('base64') };
  const path = new URL('../../apps/voice/models/backchannel/backchannel.json', here);
  writeFileSync(path, `${JSON.stringify(stored, undefined, 2)}\n`);
}
