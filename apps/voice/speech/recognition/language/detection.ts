import { errorMessage } from '@trunkline/std';
import { SpeechError } from '../../speech-error.ts';
import type { SpeechWarnings } from '../../warnings.ts';
import type { CreateHost } from '../../worker/host.ts';

export interface LanguageDetection {
  /** Tells the language of a text, such as `es`; undefined where it is not sure or the detector fails. */
  detect(text: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const warningKey = 'language detection';

/** Tells languages by the words, in a thread of its own. Where that fails, calls go on without, and a warning says why. */
export function createLanguageDetection(deps: {
  createHost: CreateHost;
  warnings: SpeechWarnings;
}): LanguageDetection {
  const { createHost, warnings } = deps;
  const host = createHost('language detection', new URL('./language.worker.ts', import.meta.url));
  return {
    async detect(text) {
      try {
        const code = await host.ask<string | undefined>(text);
        warnings.resolve(warningKey, 'the language of a call is told by its words again');
        return code;
      } catch (error) {
        const isClosed = error instanceof SpeechError && error.code === 'closed';
        const message = `The language of a call is not told by its words: ${errorMessage(error)}`;
        if (!isClosed) warnings.report(warningKey, message);
        return undefined;
      }
    },
    close: () => host.close(),
  };
}
