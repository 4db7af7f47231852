import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SpeechError } from '../../../speech-error.ts';
import { languages } from '../../../weights.ts';

const run = promisify(execFile);

const timeoutMs = 5000;

export interface Reading {
  phonemes: string;
  /** A warning for the operator. */
  notice?: string;
}

type Replacements = readonly (readonly [string, string])[];

/** Voices of the optional package phonemizer. */
const englishVoices: Readonly<Record<string, string>> = { a: 'en-us', b: 'en-gb-x-rp' };
/** Voices of the program espeak-ng, if it is installed. */
const systemVoices: Readonly<Record<string, string>> = { e: 'es', f: 'fr-fr', h: 'hi', i: 'it', p: 'pt-br' };

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
export async function readAloud(text: string, language: string): Promise<Reading> {
  const { read, spelling, notice } = await readerFor(text, language);
  const parts = text.split(/([,.;:!?—…]+(?=\s|$|["')]))/);
  const said: string[] = [];
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1) said.push(part);
    else if (/[\p{L}\p{N}]/u.test(part)) said.push(`${index > 0 ? ' ' : ''}${await read(part)}`);
  }
  const phonemes = spell(said.join(''), spelling);
  return { phonemes, ...(notice && { notice }) };
}

interface Reader {
  read(text: string): Promise<string>;
  spelling: Replacements;
  notice?: string;
}

async function readerFor(text: string, language: string): Promise<Reader> {
  const voice = systemVoices[language];
  if (voice !== undefined && (await systemPhonemes('a', voice)) !== undefined)
    return { read: async (part) => (await systemPhonemes(part, voice)) ?? '', spelling: otherSpelling };
  const read = await englishReader(englishVoices[language] ?? 'en-us');
  if (language in englishVoices) return { read, spelling: spellings[language] ?? [] };
  return { read, spelling: spellings.a ?? [], notice: cannotRead(text, language, voice) };
}

/** Latin letters are read as English, others not at all. */
function cannotRead(text: string, language: string, voice: string | undefined): string {
  const name = languages[language] ?? `the language "${language}"`;
  const remedy =
    voice === undefined ? 'use TTS_BACKEND=sidecar for it' : 'install the program espeak-ng for it';
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

/** Undefined if espeak-ng is not installed. */
async function systemPhonemes(text: string, voice: string): Promise<string | undefined> {
  try {
    const { stdout } = await run('espeak-ng', ['-q', '--ipa', '-v', voice, '--', text], {
      timeout: timeoutMs,
    });
    return stdout.trim().replace(/\s+/g, ' ');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
