import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeSound } from '../audio/decode.ts';
import { toMono } from '../audio/resample.ts';
import { checkWeights, type Weights, weightPaths, weights } from '../weights.ts';
import { loadMoonshine, type Moonshine, type MoonshineFiles } from './moonshine/model.ts';
import { readVocabulary, type Vocabulary } from './moonshine/vocabulary.ts';
import type { Transcriber } from './transcriber.ts';

interface Recogniser {
  model: Moonshine;
  vocabulary: Vocabulary;
}

const longestSeconds = 60;
const rate = 16_000;
const remedy = 'run "npm ci" without --omit=optional, or set STT_BACKEND=compat and STT_URL';

/** Recognises English speech on this machine; the model is loaded when it is first needed. */
export function createLocalTranscriber(modelDirectory: string | undefined): Transcriber {
  let loading: Promise<Recogniser> | undefined;
  const load = () => {
    loading ??= loadRecogniser(modelDirectory);
    // A failure may be mended while the service runs.
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  };
  return {
    backend: 'local',
    async transcribe({ bytes }, signal) {
      const { model, vocabulary } = await load();
      const samples = await toMono(await decodeSound(bytes, longestSeconds), rate);
      return vocabulary.textOf(await model.tokensOf(samples.subarray(0, longestSeconds * rate), signal));
    },
  };
}

async function loadRecogniser(modelDirectory: string | undefined): Promise<Recogniser> {
  const onnx = await import('onnxruntime-node').catch((cause: unknown) => {
    throw new Error(`the runtime of the speech model is not installed: ${remedy}`, { cause });
  });
  const files = modelDirectory === undefined ? await installedFiles() : filesIn(modelDirectory);
  const [script] = await provenPaths('Moonshine vocabulary');
  const vocabulary = readVocabulary(await readFile(script ?? '', 'latin1'));
  return { model: await loadMoonshine(onnx, files), vocabulary };
}

async function installedFiles(): Promise<MoonshineFiles> {
  const [encoder = ''] = await provenPaths('Moonshine base encoder');
  const [decoder = ''] = await provenPaths('Moonshine base decoder');
  return { encoder, decoder };
}

function filesIn(directory: string): MoonshineFiles {
  return {
    encoder: join(directory, 'encoder_model.onnx'),
    decoder: join(directory, 'decoder_model_merged.onnx'),
  };
}

async function provenPaths(name: string): Promise<string[]> {
  const entry = weights.find((candidate: Weights) => candidate.name === name);
  const state = entry === undefined ? 'absent' : await checkWeights(entry);
  if (entry === undefined || state !== 'ready') throw new Error(`the speech model is ${state}: ${remedy}`);
  return weightPaths(entry);
}
