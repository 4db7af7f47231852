import { SpeechError } from '../../../speech-error.ts';
import { installRemedy, languages } from '../../../weights.ts';
import { espeakWeights, openEspeak } from './espeak.ts';

export interface Reading {
  phonemes: string;
  /** A warning for the operator. */
  notice?: string;
}

type Replacements = readonly (readonly [string, string])[];

/** Voices of the optional package phonemizer. */
const englishVoices: Readonly<Record<string, string>> = { a: 'en-us', b: 'en-gb-x-rp' };
/** Voices of espeak-ng, if it is installed. */
export const espeakVoices: Readonly<Record<string, string>> = {
  e: 'es',
  f: 'fr',
  h: 'hi',
  i: 'it',
  p: 'pt-br',
};

/** The model has one symbol for these sounds. */
const joined: Replacements = [
  ['tʃ', 'ʧ'],
  ['dʒ', 'ʤ'],
  ['eɪ', 'A'],
  ['aɪ', 'I'],
  ['ɔɪ', 'Y'],
  ['aʊ', 'W'],
  ['oʊ', 'O'],
  ['əʊ', 'Q'],
];
const english: Replacements = [
  ['ʔn\u0329', 'tᵊn'],
  ['n\u0329', 'ᵊn'],
  ['ʔ', 't'],
  ...joined,
  ['əl', 'ᵊl'],
  ['r', 'ɹ'],
  ['x', 'k'],
  ['ɬ', 'l'],
];
/** The spelling that the model was trained on, by language. */
const spellings: Readonly<Record<string, Replacements>> = {
  a: [
    ...english,
    ['ɜːɹ', 'ɜɹ'],
    ['ɜː', 'ɜɹ'],
    ['ɚ', 'əɹ'],
    ['ɪə', 'iə'],
    ['ɐ', 'ə'],
    ['ɾ', 'T'],
    ['o', 'ɔ'],
    ['ː', ''],
  ],
  b: [...english, ['eə', 'ɛː'], ['iə', 'ɪə'], ['ɐ', 'ə'], ['ɚ', 'ə']],
};
const otherSpelling: Replacements = [['ts', 'ʦ'], ['dz', 'ʣ'], ...joined];

/** Punctuation stays: the model turns it into pauses and intonation. */
export async function readAloud(text: string, language: string, signal?: AbortSignal): Promise<Reading> {
  const { read, spelling, notice } = await readerFor(text, language);
  const parts = text.split(/((?<![,.;:!?—…])[,.;:!?—…]+(?=\s|$|["')]))/);
  const said: string[] = [];
  for (const [index, part] of parts.entries()) {
    signal?.throwIfAborted();
    if (index % 2 === 1) said.push(part);
    else if (/[\p{L}\p{N}]/u.test(part)) said.push(`${index > 0 ? ' ' : ''}${await read(part, signal)}`);
  }
  const phonemes = spell(said.join(''), spelling);
  return { phonemes, ...(notice && { notice }) };
}

interface Reader {
  read(text: string, signal?: AbortSignal): Promise<string>;
  spelling: Replacements;
  notice?: string;
}

/** Chooses what reads a text. */
async function readerFor(text: string, language: string): Promise<Reader> {
  const voice = espeakVoices[language];
  const espeak = voice === undefined ? undefined : await openEspeak();
  if (voice !== undefined && espeak !== undefined)
    return { read: (part, signal) => espeak(part, voice, signal), spelling: otherSpelling };
  const read = await englishReader(englishVoices[language] ?? 'en-us');
  if (language in englishVoices) return { read, spelling: spellings[language] ?? [] };
  return { read, spelling: spellings.a ?? [], notice: cannotRead(text, language) };
}

/** Latin letters are read as English, others not at all. */
function cannotRead(text: string, language: string): string {
  const name = languages[language] ?? `the language "${language}"`;
  const remedy = language in espeakVoices ? installRemedy(espeakWeights) : 'use TTS_BACKEND=sidecar for it';
  if (/[^\p{Script=Latin}\P{L}]/u.test(text))
    throw new SpeechError('unsupported', `The local voice cannot read ${name}: ${remedy}.`);
  return `The local voice cannot read ${name} and reads it as English: ${remedy}.`;
}

async function englishReader(voice: string): Promise<(text: string) => Promise<string>> {
  const library = await import('phonemizer').catch((cause: unknown) => {
    const message = 'the package phonemizer is not installed: run "npm ci" without --omit=optional';
    throw new SpeechError('missing', message, { cause });
  });
  return async (text) => (await library.phonemize(text, voice)).join(' ');
}

function spell(phonemes: string, replacements: Replacements): string {
  const spelled = replacements.reduce((text, [from, to]) => text.replaceAll(from, to), phonemes);
  // The phonemizer puts no blank between a number and "hundred".
  const apart = spelled.replace(/(?<=\S)(?=hˈʌndɹ)/g, ' ');
  return apart.trim().split(/\s+/).map(stressed).join(' ');
}

/** The model swallows unstressed words like "I". */
function stressed(word: string): string {
  return /[ˈˌ]/.test(word) ? word : word.replace(/[AIOQWY]/, 'ˌ$&');
}
