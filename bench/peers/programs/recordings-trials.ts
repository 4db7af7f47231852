// Writes the trials that every product is given, with their sounds: recordings-trials.ts FOLDER. Recordings of people come from
// Debian's packages; backchannels are spoken by Piper, as no package has recorded ones. What is understood of each sound
// as it is heard is worked out once, by our recogniser.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLocalVoices } from '../../../apps/voice/cases/harness/local-voices.suite.ts';
import { humanRecordings } from '../../../apps/voice/cases/harness/recordings.suite.ts';
import { toFloat32, toInt16 } from '../../../apps/voice/speech/audio/samples.ts';
import { inNoise } from '../../../apps/voice/speech/rooms.suite.ts';
import { whiteNoise, wordless } from '../../../apps/voice/speech/sounds.suite.ts';
import { midSentenceParts, type NamedSound, wholeSentences } from '../../voice-turns.ts';
import type { Sound, Transcript, Trial, TrialKind } from '../recordings/trial.ts';

const rate = 16_000;
const folder = process.argv[2] ?? '';
/** The recogniser hears so much more each time. */
const heardEveryMs = 400;
/** As in `voice-turns`. */
const silenceAfterMs = 200;
const interruptionCount = 14;
const longestInterruptionMs = 3500;
const longestNoiseMs = 3000;
const backchannels = ['Mhm.', 'Okay.', 'Yeah.', 'Right.', 'I see.', 'Uh-huh.', 'Yeah, right.', 'Sure.'];
const backchannelVoices = ['piper:60', 'piper:12'];

const [sentences, parts, recordings] = [
  await wholeSentences(),
  await midSentenceParts(),
  await humanRecordings(['prompts']),
];
if (sentences === undefined || parts === undefined || recordings === undefined)
  throw new Error(
    'The recordings cannot be had: "apt-get download asterisk-core-sounds-en-wav pocketsphinx-testdata" failed, or the speech models are not installed.',
  );
const voices = await openLocalVoices();
const { speech } = voices.open();
const trials: Trial[] = [];
const interims = new Map<string, string>();
const prompts = new Map(recordings.map(({ name, samples }) => [name, samples]));
// The one who asks and the one who interrupts are the same person.
const spoken = sentences.filter(({ name }) => prompts.has(name));
const byLength = spoken.toSorted((left, right) => left.samples.length - right.samples.length);
const [asked = byLength[0], ...others] = byLength;
if (asked === undefined) throw new Error('There is no recorded sentence among the prompts.');
const question = await write('question', asked, true);
for (const sentence of sentences) await add('sentence', sentence);
for (const part of parts) await add('pause', part, `-${part.samples.length}`);
for (const sound of noises()) await add('noise', sound);
for (const sound of await spokenBackchannels()) await add('backchannel', sound);
const short = others.filter(({ samples }) => (samples.length * 1000) / rate < longestInterruptionMs);
for (const sentence of short.slice(0, interruptionCount)) await add('interruption', sentence);
writeFileSync(join(folder, 'trials.json'), JSON.stringify(trials));
await voices.close();
console.log(`${trials.length} trials are written.`);

async function add(kind: TrialKind, { name, samples }: NamedSound, place = ''): Promise<void> {
  const id = `${kind}-${name.replaceAll(/\W+/g, '-')}${place}`;
  const isOverSpeech = kind !== 'sentence' && kind !== 'pause';
  const sound = await write(id, { name, samples }, kind !== 'noise');
  trials.push({ id, kind, sound, ...(isOverSpeech && { question }) });
}

/** `hasWords`: a perfect recogniser finds none in noise. */
async function write(id: string, { name, samples }: NamedSound, hasWords: boolean): Promise<Sound> {
  const file = `${id}.pcm`;
  writeFileSync(join(folder, file), Buffer.from(toInt16(samples).buffer));
  const lengthMs = Math.round((samples.length * 1000) / rate);
  return { name, file, lengthMs, transcripts: hasWords ? await understood(name, samples, lengthMs) : [] };
}

async function understood(name: string, samples: Float32Array, lengthMs: number): Promise<Transcript[]> {
  const transcripts: Transcript[] = [];
  for (let atMs = heardEveryMs; atMs < lengthMs; atMs += heardEveryMs) {
    const text = await interimText(name, samples.subarray(0, (atMs * rate) / 1000));
    if (text !== transcripts.at(-1)?.text) transcripts.push({ atMs, text });
  }
  const whole = new Float32Array(samples.length + (silenceAfterMs * rate) / 1000);
  whole.set(samples);
  let continuation: number | undefined;
  const onContinuation = (logProbability: number | undefined) => {
    continuation = logProbability;
  };
  const text = await speech.recognizer.recognize(whole, { final: true, onContinuation });
  return [...transcripts, { atMs: lengthMs, text, continuation }];
}

/** A recording begins alike in all trials that hold it. */
async function interimText(name: string, beginning: Float32Array): Promise<string> {
  const key = `${name} ${beginning.length}`;
  const text = interims.get(key) ?? (await speech.recognizer.recognize(beginning, { final: false }));
  interims.set(key, text);
  return text;
}

/** What is heard in a household, as loud as the caller or softer. */
function noises(): NamedSound[] {
  const cut = (samples: Float32Array) => samples.slice(0, (longestNoiseMs * rate) / 1000);
  const voice = cut(joined(spoken.slice(0, 4).map(({ samples }) => samples)));
  const without = (mixed: Float32Array) => mixed.map((sample, index) => sample - (voice[index] ?? 0));
  const behind = (kind: 'kitchen' | 'babble', decibels: number) =>
    without(
      inNoise(
        voice,
        kind,
        decibels,
        spoken.slice(4, 12).map(({ samples }) => samples),
      ),
    );
  const made = ['a cough', 'clicks', 'mains hum', 'music', 'noise'].map((name) => ({
    name,
    samples: wordless[name] ?? new Float32Array(0),
  }));
  const recorded = ['beep', 'ascending-2tone', 'tt-monkeys'].flatMap((name) => {
    const samples = prompts.get(name);
    return samples === undefined ? [] : [{ name, samples }];
  });
  return [
    ...made,
    { name: 'a long cough', samples: longCough() },
    { name: 'kitchen', samples: behind('kitchen', 0) },
    { name: 'kitchen 10 dB softer', samples: behind('kitchen', 10) },
    { name: 'other voices 10 dB softer', samples: behind('babble', 10) },
    { name: 'other voices 20 dB softer', samples: behind('babble', 20) },
    ...recorded,
  ].map(({ name, samples }) => ({ name, samples: cut(samples) }));
}

/** Three bursts within 1.5 s. */
function longCough(): Float32Array {
  const noise = whiteNoise(2, 0.6);
  return noise.map((sample, index) => {
    const second = index / rate;
    return second > 1.5 ? 0 : sample * Math.exp(-(second % 0.5) * 12);
  });
}

async function spokenBackchannels(): Promise<NamedSound[]> {
  const sounds: NamedSound[] = [];
  for (const voice of backchannelVoices) {
    const opened = await openLocalVoices(voice);
    for (const text of backchannels)
      sounds.push({
        name: `${text} ${voice}`,
        samples: trimmed(toFloat32(await opened.open().sounds.speech(text))),
      });
    await opened.close();
  }
  const thanks = prompts.get('auth-thankyou');
  return thanks === undefined ? sounds : [...sounds, { name: 'auth-thankyou', samples: trimmed(thanks) }];
}

function trimmed(samples: Float32Array): Float32Array {
  const isLoud = (sample: number) => Math.abs(sample) > 0.01;
  return samples.slice(samples.findIndex(isLoud), samples.findLastIndex(isLoud) + 1);
}

function joined(sounds: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(sounds.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const sound of sounds) {
    all.set(sound, at);
    at += sound.length;
  }
  return all;
}
