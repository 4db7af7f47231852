import type { Transcriber } from './transcriber.ts';

/** The model on this machine. */
export function createLocalTranscriber(): Transcriber {
  return {
    backend: 'local',
    async transcribe() {
      throw new Error(
        'no local model is installed; set STT_BACKEND=compat and STT_URL, or give a transcript',
      );
    },
  };
}
