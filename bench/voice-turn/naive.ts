// The pipeline that most people write first: silence of a fixed length, then the whole transcript, the whole answer, the whole sound.
import type { CallComponents } from '../../apps/voice/call/call.ts';
import { toFloat32 } from '../../apps/voice/speech/audio/samples.ts';
import { pause } from './talk.ts';

const silenceMs = 550;

/** Milliseconds from the end of the question to the first sound that could be sent. */
export async function naiveTurn(
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
