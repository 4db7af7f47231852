import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type * as Onnx from 'onnxruntime-node';
import { z } from 'zod';
import { melFeatures } from '../../ending/mel.ts';
import type { OnnxRuntime } from '../../weights.ts';
import { decodeGreedily } from '../greedy-decoder.ts';

export interface WhisperFiles {
  encoder: string;
  decoder: string;
  vocabulary: string;
  /** `generation_config.json`: languages, and tokens that are never said. */
  generation: string;
}

export interface Transcript {
  text: string;
  /** A code such as de: the one that was given, or the one that was heard. */
  language: string;
}

/** A recogniser of a hundred languages that works on 16 kHz samples. */
export interface Whisper {
  /** Without a language it is told by the sound. */
  transcribe(samples: Float32Array, language?: string, signal?: AbortSignal): Promise<Transcript>;
}

/** Cores that a transcript takes at the same time. */
export const whisperCores = 4;

const sampleRate = 16_000;
/** The encoder takes exactly 30 seconds. */
const [windowSeconds, windowFrames, bands] = [30, 3000, 80];
/** Languages that are not English need more tokens a word; more than this means that the model repeats itself. */
const tokensPerSecond = 12;
const fewestTokens = 8;

const generationSchema = z.object({
  decoder_start_token_id: z.number(),
  eos_token_id: z.number(),
  no_timestamps_token_id: z.number(),
  lang_to_id: z.record(z.string(), z.number()),
  task_to_id: z.object({ transcribe: z.number() }),
  suppress_tokens: z.array(z.number()),
  begin_suppress_tokens: z.array(z.number()),
});

/** It takes seconds on one core; spinning threads would take cores from the calls. */
const threads = () => ({
  intraOpNumThreads: Math.min(whisperCores, availableParallelism()),
  interOpNumThreads: 1,
  // The arena keeps 600 MB more than the model needs between transcripts.
  enableCpuMemArena: false,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});

/** For workers only: inference blocks the thread. */
export async function loadWhisper(onnx: OnnxRuntime, files: WhisperFiles): Promise<Whisper> {
  const generation = generationSchema.parse(JSON.parse(await readFile(files.generation, 'utf8')));
  const vocabulary = readVocabulary(await readFile(files.vocabulary, 'utf8'));
  // One after the other: a second that still loads when the first has failed ends the process with the worker.
  const encoder = await onnx.InferenceSession.create(files.encoder, threads());
  const decoder = await onnx.InferenceSession.create(files.decoder, threads());
  const { decoder_start_token_id: start, eos_token_id: endToken, suppress_tokens: never } = generation;
  const { no_timestamps_token_id: noTimestamps, task_to_id: tasks } = generation;
  const atFirst = [...never, ...generation.begin_suppress_tokens];
  // Timestamps follow the token that switches them off.
  const timestamps = Array.from({ length: windowSeconds * 50 + 1 }, (_, index) => noTimestamps + 1 + index);
  const [first, later] = [
    [...atFirst, ...timestamps],
    [...never, ...timestamps],
  ];
  const languages = new Map(
    Object.entries(generation.lang_to_id).map(([name, token]) => [name.slice(2, -2), token]),
  );
  const names = new Map([...languages].map(([name, token]) => [token, name]));
  const others = Array.from({ length: vocabulary.size + timestamps.length }, (_, token) => token).filter(
    (token) => !names.has(token),
  );

  const hear = async (hidden: Onnx.Tensor) => {
    const options = { prompt: [start], endToken, most: 1, suppressed: () => others };
    const { tokens } = await decodeGreedily(onnx, decoder, hidden, options);
    return names.get(tokens[0] ?? 0) ?? 'en';
  };
  return {
    async transcribe(samples, given, signal) {
      const sound = samples.subarray(0, windowSeconds * sampleRate);
      const output = await encoder.run({ input_features: featuresOf(onnx, sound) });
      const hidden = Object.values(output)[0];
      if (hidden === undefined) throw new Error('the speech model gives nothing');
      signal?.throwIfAborted();
      const language = given !== undefined && languages.has(given) ? given : await hear(hidden);
      const { tokens } = await decodeGreedily(onnx, decoder, hidden, {
        prompt: [start, languages.get(language) ?? start, tasks.transcribe, noTimestamps],
        endToken,
        most: fewestTokens + Math.ceil((sound.length / sampleRate) * tokensPerSecond),
        suppressed: (chosen) => (chosen === 0 ? first : later),
        signal,
      });
      return { text: vocabulary.textOf(tokens), language };
    },
  };
}

function featuresOf(onnx: OnnxRuntime, samples: Float32Array): Onnx.Tensor {
  const window = new Float32Array(windowSeconds * sampleRate);
  window.set(samples);
  return new onnx.Tensor('float32', melFeatures(window), [1, bands, windowFrames]);
}

export interface ByteVocabulary {
  size: number;
  textOf(tokens: readonly number[]): string;
}

/** Reads a vocabulary of byte pairs as GPT-2 writes it: each character of a token stands for a byte. */
export function readVocabulary(json: string): ByteVocabulary {
  const tokens = z.record(z.string(), z.number()).parse(JSON.parse(json));
  const words = new Map(Object.entries(tokens).map(([word, token]) => [token, word]));
  const bytes = bytesByCharacter();
  return {
    size: Math.max(...words.keys()) + 1,
    textOf(tokens) {
      const characters = tokens.flatMap((token) => [...(words.get(token) ?? '')]);
      return Buffer.from(characters.flatMap((character) => bytes.get(character) ?? []))
        .toString('utf8')
        .trim();
    },
  };
}

/** Bytes that can be printed stand for themselves, the others follow from character 256 on. */
function bytesByCharacter(): Map<string, number> {
  const bytes = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte += 1) {
    const isPrinted = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    bytes.set(String.fromCodePoint(isPrinted ? byte : next), byte);
    if (!isPrinted) next += 1;
  }
  return bytes;
}
