import { decodeSound } from '../audio/decode.ts';
import { toMono } from '../audio/resample.ts';
import type { Recognizer } from '../recognition/recognizer.ts';
import type { Transcriber } from './transcriber.ts';

const longestSeconds = 60;
const rate = 16_000;

/** Transcribes files by the recogniser of this machine. */
export function createLocalTranscriber(recognizer: Pick<Recognizer, 'recognize'>): Transcriber {
  return {
    backend: 'local',
    async transcribe({ bytes }, signal) {
      const samples = await toMono(await decodeSound(bytes, longestSeconds), rate);
      return recognizer.recognize(samples.subarray(0, longestSeconds * rate), { final: true, signal });
    },
  };
}
