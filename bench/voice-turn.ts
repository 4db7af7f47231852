// From the end of a caller's words to the first packet of the answer: what the pipeline itself costs, and the whole
// with the models of this machine, beside a pipeline that waits for each step to be complete.

import type { CallComponents } from '../apps/voice/call/call-components.ts';
import { steadyClock } from '../apps/voice/call/clock.ts';
import { speechOf } from '../apps/voice/cases/harness/code.suite.ts';
import { hasLocalVoices, openLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { scriptedModel } from '../apps/voice/cases/harness/model.suite.ts';
import { scriptedVoices } from '../apps/voice/cases/harness/voices.suite.ts';
import type { TurnLatency } from '../apps/voice/metrics/metrics.ts';
import { toFloat32 } from '../apps/voice/speech/audio/samples.ts';
import type { BenchResult } from './result.ts';
import { pause, talk } from './voice-turn/talk.ts';

const question = 'What is the capital of France?';
const answer =
  'The capital of France is Paris. It lies on the river Seine, and about two million people live there.';
/** A model of a usual speed: 200 ms to the first token, forty tokens a second. */
const speakingRate = { after: 200, every: 25 };

export async function run(): Promise<BenchResult[]> {
  const results = await measureOverhead();
  if (!(await hasLocalVoices())) return results;
  return [...results, ...(await measureWhole())];
}

/** Everything but the pipeline takes no time at all. */
async function measureOverhead(): Promise<BenchResult[]> {
  const delays = { recognition: 0, synthesis: 0 };
  const { speech } = scriptedVoices(steadyClock, delays);
  const { model } = scriptedModel([{ text: 'Yes.', after: 0, every: 0 }], steadyClock);
  const turns = await talk(speech, model, speechOf('Stop now.'), 8);
  const overhead = turns.map(
    ({ first_packet_ms: sent, end_of_utterance_ms: ended }) => (sent ?? 0) - (ended ?? 0),
  );
  return [
    { ...alone('end of turn to first packet, zero-latency parts', median(overhead)), goal: '50' },
    alone('end of speech to end of turn', median(marks(turns, 'end_of_utterance_ms'))),
  ];
}

async function measureWhole(): Promise<BenchResult[]> {
  const voices = await openLocalVoices();
  const { speech, sounds } = voices.open();
  const sound = await sounds.speech(question);
  const write = async () => {
    await pause(speakingRate.after + speakingRate.every * answer.split(' ').length);
    return answer;
  };
  await naiveTurn(speech, write, sound);
  const { model } = scriptedModel([{ text: answer, ...speakingRate }], steadyClock);
  const turns = await talk(speech, model, sound, 3);
  const naive: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) naive.push(await naiveTurn(speech, write, sound));
  await voices.close();
  const [ours, theirs] = [median(marks(turns, 'first_packet_ms')), median(naive)];
  const name = 'end of speech to first packet, local models, no browser, model at 40 tokens/s';
  return [{ name, unit: 'ms', ours, peers: { naive: theirs }, ratio: ours / theirs, better: 'lower' }];
}

function marks(turns: readonly TurnLatency[], mark: keyof TurnLatency): number[] {
  return turns.map((turn) => turn[mark] ?? 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}

function alone(name: string, ours: number): BenchResult {
  return { name, unit: 'ms', ours, peers: {}, ratio: 0, better: 'lower' };
}

if (import.meta.main) {
  console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio', 'goal']);
  process.exit(0);
}

// The pipeline that most people write first: silence of a fixed length, then the whole transcript, the whole answer, the whole sound.

const silenceMs = 550;

/** Milliseconds from the end of the question to the first sound that could be sent. */
async function naiveTurn(
  speech: CallComponents['speech'],
  answer: () => Promise<string>,
  question: Int16Array,
): Promise<number> {
  const spokenAt = performance.now();
  await pause(silenceMs);
  await speech.recognizer.recognize(toFloat32(question), { final: true });
  const text = await answer();
  for await (const _frame of speech.synthesizer.speak({ text }));
  return performance.now() - spokenAt;
}
