// Numbers, dates, sums, units and addresses as a listener understands them: Piper says what is written, Moonshine listens.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { normalise } from '../../speech/synthesis/inprocess/normalise.ts';
import { wordError } from '../../speech/word-error.suite.ts';
import { hasLocalVoices, openLocalVoices } from './local-voices.suite.ts';

const table = join(import.meta.dirname, '../../speech/synthesis/inprocess/spoken-forms.yaml');
const sampleSize = 40;
/** Of the words of the whole sample. Letters and lone digits are misheard more often than sentences. */
const mostWrong = 0.2;

/** Says and recognises a sample of the table where one of the words is part of its name, or none is given; returns how many failed. */
export async function playSpokenForms(
  names: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  if (names.length > 0 && !names.some((word) => 'spoken-forms'.includes(word))) return 0;
  if (!(await hasLocalVoices())) {
    print('spoken-forms left out: the speech models are not installed');
    return 0;
  }
  const voices = await openLocalVoices();
  const { sounds } = voices.open();
  const [expected, heard]: [string[], string[]] = [[], []];
  try {
    for (const [written, spoken] of sample()) {
      const words = await voices.transcribe([{ samples: await sounds.speech(written), sampleRate: 16_000 }]);
      expected.push(inWords(spoken));
      heard.push(inWords(normalise(words)));
      const wrong = wordError(expected.slice(-1), heard.slice(-1));
      if (wrong > 0) print(`  ${written}: ${expected.at(-1)} / heard: ${heard.at(-1)}`);
    }
  } finally {
    await voices.close();
  }
  const wrong = wordError(expected, heard);
  const isGood = wrong <= mostWrong;
  const share = `${(100 * wrong).toFixed(1)} % of the words wrong, at most ${100 * mostWrong} allowed`;
  print(`${isGood ? 'ok    ' : 'FAILED'} spoken-forms: ${expected.length} are said and understood, ${share}`);
  return isGood ? 0 : 1;
}

/** Evenly from the English part of the table. */
function sample(): [written: string, spoken: string][] {
  const { en }: { en: Record<string, Record<string, string>> } = parse(readFileSync(table, 'utf8'));
  const all = Object.values(en).flatMap((kind) => Object.entries(kind));
  const step = all.length / sampleSize;
  return all.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

const small = [
  ...['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven'],
  ...['twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen'],
];
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
const scales = [
  [1_000_000_000, 'billion'],
  [1_000_000, 'million'],
  [1000, 'thousand'],
  [100, 'hundred'],
] as const;
const ordinals: Record<string, string> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

/** Listeners write "15" and "fifteen" for the same sound: all numbers become words, and what sounds alike is written alike. */
function inWords(text: string): string {
  return text
    .replace(/(\d+)(?:st|nd|rd|th)\b/g, (_, digits: string) => ordinal(cardinal(Number(digits))))
    .replace(/(\d)\.(\d+)/g, (_, before: string, after: string) => `${before} point ${[...after].join(' ')}`)
    .replace(/(\d+)s\b/g, (_, digits: string) => cardinal(Number(digits)).replace(/y$/, 'ies'))
    .replace(/\d+/g, (digits) => ` ${cardinal(Number(digits))} `)
    .replace(/-/g, ' ')
    .replace(/\b(hundred|thousand|million) and\b/gi, '$1')
    .replace(/\ba\.?m\b\.?/gi, 'am')
    .replace(/\bp\.?m\b\.?/gi, 'pm')
    .replace(/kilometers/gi, 'kilometres')
    .replace(/meters/gi, 'metres')
    .replace(/\s+/g, ' ')
    .trim();
}

function cardinal(number: number): string {
  const [scale, name] = scales.find(([size]) => number >= size) ?? [];
  if (scale !== undefined) {
    const rest = number % scale;
    return `${cardinal(Math.floor(number / scale))} ${name}${rest === 0 ? '' : ` ${cardinal(rest)}`}`;
  }
  if (number < 20) return small[number] ?? '';
  return `${tens[Math.floor(number / 10)]}${number % 10 === 0 ? '' : ` ${small[number % 10]}`}`;
}

function ordinal(words: string): string {
  const last = words.slice(words.lastIndexOf(' ') + 1);
  const changed = ordinals[last] ?? `${last.replace(/y$/, 'ie')}th`;
  return words.slice(0, words.length - last.length) + changed;
}
