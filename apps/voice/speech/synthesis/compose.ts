import { join } from 'node:path';
import type { VoiceOptions } from '../../options.ts';
import type { Notices } from '../notices.ts';
import type { Sidecar } from '../sidecar/sidecar.ts';
import type { CreateHost } from '../worker/create-hosts.ts';
import { createCompatSynthesizer } from './compat-synthesizer.ts';
import { createFallbackSynthesizer } from './fallback-synthesizer.ts';
import { createKokoroVoice } from './inprocess/kokoro-voice.ts';
import { createPiperVoice, isPiper, type PiperSettings } from './inprocess/piper-voice.ts';
import { createSidecarSynthesizer } from './sidecar-synthesizer.ts';
import type { SpeechRequest, Synthesizer } from './synthesizer.ts';

interface Parts {
  sidecar: Sidecar;
  /** For files that models need on disk. */
  directory: string;
  createHost: CreateHost;
  notices: Notices;
}

type Backends = Record<'sidecar' | 'compat' | 'kokoro' | 'piper', Synthesizer>;

const remoteBackends = ['sidecar', 'compat'];
/** How long a caller waits for the sound of another machine before a voice of this one speaks. */
const remotePatienceMs = 8000;

/** Piper's runtime reads its dictionaries from the first directory that it was given, as long as the process lives. */
let piperDirectory: string | undefined;

/** All voices, each followed by those that speak when it fails. */
export function createVoices(options: VoiceOptions, parts: Parts): Synthesizer {
  const backends = createBackends(options, parts);
  const all = Object.values(backends);
  return createFallbackSynthesizer({
    backend: options.ttsBackend,
    order: (request) => orderOf(request, backends, options),
    patienceMs: (name) => (remoteBackends.includes(name) ? remotePatienceMs : undefined),
    notices: parts.notices,
    close: async () => void (await Promise.all(all.map((backend) => backend.close()))),
  });
}

function createBackends(options: VoiceOptions, { sidecar, directory, createHost, notices }: Parts): Backends {
  const { inprocVoice: voice, inprocLang: language } = options;
  piperDirectory ??= join(directory, 'piper');
  const settings: PiperSettings = { directory: piperDirectory };
  const script = (path: string) => new URL(path, import.meta.url);
  const kokoro = createHost('the Kokoro voice', script('./inprocess/kokoro/kokoro.worker.ts'));
  const piper = createHost('the Piper voice', script('./inprocess/piper/piper.worker.ts'), settings);
  return {
    sidecar: createSidecarSynthesizer({
      sidecar,
      sampleRate: options.sidecarSampleRate,
      referenceId: options.sidecarReferenceId,
      notices,
    }),
    compat: createCompatSynthesizer({
      url: options.ttsCompatUrl,
      model: options.ttsCompatModel,
      voice: options.ttsCompatVoice,
      apiKey: options.ttsCompatApiKey,
      sampleRate: options.ttsCompatSampleRate,
      notices,
    }),
    kokoro: createKokoroVoice({ host: kokoro, notices, voice, language }),
    piper: createPiperVoice({ host: piper, notices, voice }),
  };
}

/** The wanted one, then those of this machine, then the sidecar; never an endpoint that nobody chose. */
function orderOf(
  { backend, voice }: SpeechRequest,
  { sidecar, compat, kokoro, piper }: Backends,
  { ttsBackend, inprocVoice }: VoiceOptions,
): Synthesizer[] {
  const local = isPiper(voice ?? inprocVoice) ? [piper, kokoro] : [kokoro, piper];
  switch (backend ?? ttsBackend) {
    case 'inprocess':
      return [...local, sidecar];
    case 'compat':
      return [compat, ...local, sidecar];
    default:
      return [sidecar, ...local];
  }
}
