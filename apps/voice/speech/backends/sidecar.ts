import { decimal, group, integer, text, url } from '@trunkline/config';
import type { AudioFrame } from '../audio/samples.ts';
import { readSamples } from '../audio/wav.ts';
import type { Sidecar } from '../sidecar/client.ts';
import { SpeechError } from '../speech-error.ts';
import type { SpeechRequest, Synthesizer } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import { defineSpeechBackend } from './definition.ts';

/** Speaks by the sidecar, a speech server that clones voices. */
export const sidecar = defineSpeechBackend({
  name: 'sidecar',
  options: group('Speech output', {
    sidecarUrl: url({
      env: 'SIDECAR_URL',
      default: 'http://127.0.0.1:8092',
      doc: 'Address of the speech sidecar.',
    }),
    sidecarReferenceId: text({
      env: 'SIDECAR_REFERENCE_ID',
      doc: 'Saved voice to speak with, unless the skill names one.',
    }),
    sidecarSampleRate: integer({
      env: 'SIDECAR_SAMPLE_RATE',
      default: 44_100,
      min: 8000,
      max: 192_000,
      doc: "Sample rate of the sidecar's audio in Hz.",
    }),
    sidecarTimeout: decimal({
      env: 'SIDECAR_TIMEOUT',
      default: 180,
      min: 1,
      doc: 'Seconds one request to the sidecar may take. A cold start takes about two minutes.',
    }),
  }),
  synthesis: {
    isRemote: true,
    isFallback: true,
    clonesVoices: true,
    create: (
      { sidecarSampleRate: sampleRate, sidecarReferenceId: referenceId },
      { sidecar: client, warnings },
    ) => ({
      synthesizers: [createSidecarSynthesizer({ sidecar: client, sampleRate, referenceId, warnings })],
      answers: () => answers(client),
    }),
  },
});

const probeTimeoutMs = 5000;

async function answers(client: Sidecar): Promise<boolean> {
  try {
    await client.listReferences(AbortSignal.timeout(probeTimeoutMs));
    return true;
  } catch (error) {
    // A sidecar that refuses to list its voices may still speak.
    return error instanceof SpeechError && error.code === 'refused';
  }
}

interface SidecarSynthesizerOptions {
  sidecar: Sidecar;
  sampleRate: number;
  /** Speaks if the skill names no voice; the sidecar's own if not given. */
  referenceId: string | undefined;
  warnings: SpeechWarnings;
}

/** A skill's voice is a reference saved on the sidecar, which also reads prosody tags. */
export function createSidecarSynthesizer(options: SidecarSynthesizerOptions): Synthesizer {
  return {
    backend: 'sidecar',
    async *speak(request) {
      const referenceId = request.voice ?? options.referenceId;
      try {
        yield* frames(options, request, referenceId);
      } catch (error) {
        if (!(await isUnknown(options, request, error))) throw error;
        const message = `The sidecar has no voice ${request.voice}; its default speaks instead.`;
        options.warnings.report(`sidecar voice ${request.voice}`, message);
        yield* frames(options, request, options.referenceId);
      }
    },
  };
}

function frames(
  { sidecar, sampleRate }: SidecarSynthesizerOptions,
  { text, signal }: SpeechRequest,
  referenceId: string | undefined,
): AsyncGenerator<AudioFrame, void> {
  return readSamples(sidecar.speak({ text, referenceId, signal }), sampleRate);
}

/** A sidecar that does not know the voice refuses before the first sound. */
async function isUnknown(
  { sidecar, referenceId }: SidecarSynthesizerOptions,
  { voice, signal }: SpeechRequest,
  error: unknown,
): Promise<boolean> {
  const isRefused = error instanceof SpeechError && error.code === 'refused';
  if (!isRefused || voice === undefined || voice === referenceId) return false;
  const known = await sidecar.listReferences(signal);
  return !known.includes(voice);
}
