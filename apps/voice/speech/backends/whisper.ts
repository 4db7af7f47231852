import { availableParallelism } from 'node:os';
import { group } from '@trunkline/config';
import type { RecognitionOptions } from '../recognition/recognizer.ts';
import { type Transcript, whisperCores } from '../recognition/whisper/model.ts';
import type { WhisperWork } from '../recognition/whisper/whisper.worker.ts';
import { diagnoseWeights } from '../weights.ts';
import { languageOption } from './compat.ts';
import { defineSpeechBackend } from './definition.ts';

const silence = new Float32Array(8000);
/** Shorter speech does not tell its language for sure. */
const tellingSamples = 2 * 16_000;
/** A thread takes more than 1 GB. */
const memoryBytes = 2 * 2 ** 30;

/** Listens with Whisper on this machine: a hundred languages, slower than the English model of `local`. */
export const whisper = defineSpeechBackend({
  name: 'whisper',
  options: group('Speech recognition', languageOption),
  recognition: {
    create({ sttLanguage: standard }, { createHost }) {
      const script = new URL('../recognition/whisper/whisper.worker.ts', import.meta.url);
      const host = createHost('Whisper', script, {
        threads: Math.max(1, Math.floor(availableParallelism() / whisperCores)),
        warmUp: [{ samples: silence, language: 'en' } satisfies WhisperWork],
        memoryBytes,
      });
      const transcribe = async (samples: Float32Array, given: RecognitionOptions) => {
        const { final, caller, signal, language = standard, onLanguage } = given;
        const work: WhisperWork = { samples, language: language && codeOf(language) };
        const options = { signal, caller, urgent: final, droppable: !final };
        const transcript = await host.ask<Transcript>(work, options);
        if (language === undefined && samples.length >= tellingSamples) onLanguage?.(transcript.language);
        return transcript.text;
      };
      return {
        isCostly: true,
        isMultilingual: standard === undefined,
        transcribe,
        warm: async () => void (await transcribe(silence, { final: true, language: 'en' })),
        close: () => host.close(),
      };
    },
  },
  // The model does not come with the service.
  diagnose: async (_options, isChosen) =>
    isChosen ? [await diagnoseWeights('recognition of many languages')] : [],
});

/** `pt` for `pt-BR`. */
function codeOf(language: string): string {
  return language.toLowerCase().split('-')[0] ?? language;
}
