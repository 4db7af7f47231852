import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import { emptyMemory, loadSilero, type Silero, windowLength } from '../activity/silero/model.ts';
import { loadOnnx, provenPaths } from '../weights.ts';
import { once, serveWork } from '../worker/serve.ts';
import { loadMoonshine, type Moonshine, readVocabulary, type Vocabulary } from './moonshine/model.ts';
import type { RecognitionSettings, RecognitionWork, Transcript } from './recognizer.ts';

const { modelDirectory } = workerData as RecognitionSettings;
const silero = once(loadActivity);
const vocabulary = once(loadVocabulary);
/** Somebody waits for the careful model: on two cores its encoder takes 50 ms in place of 80, and no longer where another caller needs them too. */
const carefulThreads = Math.min(2, availableParallelism());
const models = {
  quick: once(() => loadModel('tiny', 1)),
  careful: once(() => loadModel('base', carefulThreads)),
};

serveWork(async (work: RecognitionWork, signal) => {
  if (work.kind === 'scan') return scan(await silero(), work.samples, signal);
  const [model, words] = [await models[work.model](), await vocabulary()];
  const continuation = words.continuation();
  const { draftTokens } = work;
  const { tokens, nothing } = await model.decode(work.samples, {
    draftTokens,
    onToken: continuation.onToken,
    signal,
  });
  return {
    text: words.textOf(tokens),
    tokens,
    nothing,
    continuation: continuation.logProbability,
  } satisfies Transcript;
});

async function scan(model: Silero, samples: Float32Array, signal: AbortSignal): Promise<number[]> {
  const probabilities: number[] = [];
  let memory = emptyMemory();
  for (let at = 0; at + windowLength <= samples.length && !signal.aborted; at += windowLength) {
    const [answer] = await model.judge([{ samples: samples.subarray(at, at + windowLength), memory }]);
    if (answer === undefined) break;
    probabilities.push(answer.probability);
    memory = answer.memory;
  }
  return probabilities;
}

async function loadActivity(): Promise<Silero> {
  const [path = ''] = await provenPaths('Silero VAD 5');
  return loadSilero(await loadOnnx(), path);
}

async function loadVocabulary(): Promise<Vocabulary> {
  const [script = ''] = await provenPaths('Moonshine vocabulary');
  return readVocabulary(await readFile(script, 'latin1'));
}

async function loadModel(size: 'tiny' | 'base', threads: number): Promise<Moonshine> {
  if (modelDirectory !== undefined) {
    const encoder = join(modelDirectory, 'encoder_model.onnx');
    const decoder = join(modelDirectory, 'decoder_model_merged.onnx');
    return loadMoonshine(await loadOnnx(), { encoder, decoder }, threads);
  }
  const [encoder = ''] = await provenPaths(`Moonshine ${size} encoder`);
  const [decoder = ''] = await provenPaths(`Moonshine ${size} decoder`);
  return loadMoonshine(await loadOnnx(), { encoder, decoder }, threads);
}
