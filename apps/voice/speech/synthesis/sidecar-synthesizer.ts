import type { AudioFrame } from '../audio/frame.ts';
import { readSamples } from '../audio/sample-stream.ts';
import type { Notices } from '../notices.ts';
import { type Sidecar, SidecarError } from '../sidecar/sidecar.ts';
import type { SpeechRequest, Synthesizer } from './synthesizer.ts';

interface SidecarSynthesizerOptions {
  sidecar: Sidecar;
  sampleRate: number;
  /** Speaks where the skill names no voice; the sidecar's own when not given. */
  referenceId: string | undefined;
  notices: Notices;
}

/** Speaks by the sidecar; a skill's voice is a reference saved there. Prosody tags are its business and stay. */
export function createSidecarSynthesizer(options: SidecarSynthesizerOptions): Synthesizer {
  return {
    backend: 'sidecar',
    async *speak(request) {
      const referenceId = request.voice ?? options.referenceId;
      try {
        yield* frames(options, request, referenceId);
      } catch (error) {
        if (!(await isUnknown(options, request, error))) throw error;
        const words = `The sidecar has no voice ${request.voice}; its default speaks instead.`;
        options.notices.tell(`sidecar voice ${request.voice}`, words);
        yield* frames(options, request, options.referenceId);
      }
    },
    close: async () => undefined,
  };
}

function frames(
  { sidecar, sampleRate }: SidecarSynthesizerOptions,
  { text, signal }: SpeechRequest,
  referenceId: string | undefined,
): AsyncGenerator<AudioFrame, void> {
  return readSamples(sidecar.speak({ text, referenceId, signal }), sampleRate);
}

/** A sidecar refuses before the first sound when it does not know the voice. */
async function isUnknown(
  { sidecar, referenceId }: SidecarSynthesizerOptions,
  { voice, signal }: SpeechRequest,
  error: unknown,
): Promise<boolean> {
  const isRefused = error instanceof SidecarError && error.code === 'refused';
  if (!isRefused || voice === undefined || voice === referenceId) return false;
  const known = await sidecar.listReferences(signal);
  return !known.includes(voice);
}
