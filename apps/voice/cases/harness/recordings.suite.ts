import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeSound } from '../../speech/audio/decode.ts';
import { toMono } from '../../speech/audio/resample.ts';
import { toInt16 } from '../../speech/audio/samples.ts';
import { decodeWav } from '../../speech/audio/wav.ts';
import { byTelephone, inNoise, inRoom } from '../../speech/rooms.suite.ts';
import type { RecordedSpeech } from './case.suite.ts';

const rate = 16_000;
const folders = {
  /** Prompts of a telephone system, one speaker, 8 kHz; nobody has written down what they say. */
  prompts: { name: 'asterisk-core-sounds-en-wav', path: 'usr/share/asterisk/sounds/en_US_f_Allison' },
  /** Sentences of a novel, read aloud, 16 kHz, with their words. */
  readings: { name: 'pocketsphinx-testdata', path: 'usr/share/pocketsphinx/test/data/librivox' },
};

export type RecordingSet = keyof typeof folders;

export interface HumanRecording {
  /** The file without its ending. */
  name: string;
  set: RecordingSet;
  /** At 16 kHz, -1 to 1. */
  samples: Float32Array;
  /** What is said, where it is written down. */
  text?: string | undefined;
}

/** Recordings of people from Debian's packages, fetched into a temporary folder; undefined where they cannot be had. */
export async function humanRecordings(sets: readonly RecordingSet[]): Promise<HumanRecording[] | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-recordings-'));
  const options = { cwd: folder, timeout: 120_000, stdio: 'ignore' as const };
  try {
    execFileSync('apt-get', ['download', ...sets.map((set) => folders[set].name)], options);
    for (const name of readdirSync(folder)) execFileSync('dpkg-deb', ['-x', name, '.'], options);
    return (await Promise.all(sets.map((set) => readSet(set, join(folder, folders[set].path))))).flat();
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function readSet(set: RecordingSet, folder: string): Promise<HumanRecording[]> {
  const files = readdirSync(folder).toSorted();
  const lines = files.includes('transcription') ? readFileSync(join(folder, 'transcription'), 'utf8') : '';
  const texts = new Map(
    [...lines.matchAll(/^<s> (.*) <\/s> \((.*)\)$/gm)].map(([, text = '', name = '']) => [name, text]),
  );
  return Promise.all(
    files
      .filter((file) => file.endsWith('.wav'))
      .map(async (file) => {
        const name = file.replace(/\.wav$/, '');
        const samples = await toMono(decodeWav(readFileSync(join(folder, file))), rate);
        return { name, set, samples, text: texts.get(name) };
      }),
  );
}

/** By name, at 16 kHz. */
export type Recordings = ReadonlyMap<string, Float32Array>;

/** The recording that comes with the sources: a sentence and a half of a novel. */
const own = join(import.meta.dirname, '../../speech/recognition/fixtures/austen.ogg');

/** A recording as the microphone of a caller hears it. */
export async function recordedSound(wanted: RecordedSpeech, recordings: Recordings): Promise<Int16Array> {
  const { recording, from, to, noise, decibels, room, telephone, gain } = wanted;
  const whole =
    recording === 'austen'
      ? await toMono(await decodeSound(readFileSync(own), 30), rate)
      : recordings.get(recording);
  if (whole === undefined) throw new Error(`there is no recording ${recording}`);
  const others = [...recordings].flatMap(([name, samples]) => (name === recording ? [] : samples));
  const perMs = rate / 1000;
  const part = whole.slice(from * perMs, to === undefined ? undefined : to * perMs);
  const far = room ? inRoom(part) : part;
  const noisy = noise === undefined ? far : inNoise(far, noise, decibels, others);
  const heard = telephone ? byTelephone(noisy) : noisy;
  return toInt16(heard.map((sample) => Math.max(-1, Math.min(1, sample * gain))));
}
