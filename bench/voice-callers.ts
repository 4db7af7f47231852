// 1, 2, 4 and 8 callers who talk at the same time to the local models of this machine: how long they wait, and whether
// the answers have holes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '@trunkline/config';
import { steadyClock } from '../apps/voice/call/clock.ts';
import { hasLocalVoices, openLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { scriptedModel } from '../apps/voice/cases/harness/model.suite.ts';
import { voiceOptions } from '../apps/voice/options.ts';
import { createSidecarClient } from '../apps/voice/speech/sidecar/client.ts';
import { createSpeechParts, type SpeechParts } from '../apps/voice/speech/speech.ts';
import type { BenchResult } from './result.ts';
import { pause, silentLogger, talk } from './voice-turn/talk.ts';

const question = 'What is the capital of France?';
const answer =
  'The capital of France is Paris. It lies on the river Seine, and about two million people live there.';
/** A model of a usual speed: 300 ms to the first token, forty tokens a second. */
const speakingRate = { after: 300, every: 25 };
const voices = ['piper', 'af_heart'];
const callers = [1, 2, 4, 8];
const turns = 4;
/** Callers do not begin in the same moment. */
const apartMs = 350;
/** Longer silences than this end an answer. */
const restMs = 6000;

export async function run(): Promise<BenchResult[]> {
  if (!(await hasLocalVoices())) return [];
  const sound = await askedQuestion();
  const results: BenchResult[] = [];
  for (const voice of voices) {
    const { speech, close } = openSpeech(voice);
    try {
      await speech.warm();
      // Loads all models, and lets the pools grow.
      await converse(speech, sound, 2, 1);
      for (const count of callers) {
        const { waits, longestHoleMs } = await converse(speech, sound, count, turns);
        const name = `${voice}, ${count} ${count === 1 ? 'caller' : 'callers'} at once`;
        results.push(row(`${name}: wait p50`, quantile(waits, 0.5)));
        results.push(row(`${name}: wait p90`, quantile(waits, 0.9)));
        results.push(row(`${name}: longest silence within an answer`, Math.round(longestHoleMs)));
      }
    } finally {
      await close();
    }
  }
  return results;
}

async function askedQuestion(): Promise<Int16Array> {
  const local = await openLocalVoices();
  const sound = await local.open().sounds.speech(question);
  await local.close();
  return sound;
}

function openSpeech(voice: string) {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-speech-'));
  // As `npm start` sets them, except for the voice: it chooses one of these by the machine.
  const shipped = { TTS_BACKEND: 'inprocess', SMART_TURN: 'local' };
  const env = { ...shipped, INPROC_VOICE: voice, SIDECAR_URL: 'http://127.0.0.1:9' };
  const options = readOptions(voiceOptions, { env });
  const sidecar = createSidecarClient({ url: options.sidecarUrl, timeoutMs: 1000 });
  const speech = createSpeechParts(options, { sidecar, directory, logger: silentLogger });
  const close = async () => {
    await speech.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return { speech, close };
}

/** Lets so many callers ask in their own calls. */
async function converse(speech: SpeechParts, sound: Int16Array, count: number, turns: number) {
  let longestHoleMs = 0;
  const onHole = (ms: number) => {
    longestHoleMs = Math.max(longestHoleMs, ms);
  };
  const calls = Array.from({ length: count }, async (_, index) => {
    await pause(index * apartMs);
    const { model } = scriptedModel([{ text: answer, ...speakingRate }], steadyClock);
    return talk(speech, model, sound, turns, { id: `caller ${index}`, restMs, onHole });
  });
  const taken = (await Promise.all(calls)).flat();
  return { waits: taken.map(({ first_packet_ms: wait }) => wait ?? 0), longestHoleMs };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function row(name: string, ours: number): BenchResult {
  return { name, unit: 'ms', ours, peers: {}, ratio: 0, better: 'lower' };
}

if (import.meta.main) {
  console.table(await run(), ['name', 'unit', 'ours']);
  process.exit(0);
}
