import { toInt16 } from '../../audio/samples.ts';
import type { Notices } from '../../notices.ts';
import type { WorkerHost } from '../../worker/host.ts';
import { withoutProsody } from '../prosody.ts';
import type { SpeechRequest, Synthesizer } from '../synthesizer.ts';
import { normalise } from './normalise.ts';
import { splitForSpeech } from './split.ts';
import { trimSilence } from './trim.ts';
import type { Utterance, UtteranceWork } from './utterance.ts';

interface LocalVoiceOptions {
  backend: string;
  host: WorkerHost;
  notices: Notices;
  /** Called before the worker is asked. */
  prepare?(): void;
  /** Which of its voices speaks, and in which language. */
  choose(request: SpeechRequest): Omit<UtteranceWork, 'text'>;
}

/** Seconds of silence kept around a piece. */
const pauses = { before: 0.02, afterClause: 0.12, afterSentence: 0.28 };

/** A voice of this machine: speaks piece by piece, so that callers take turns and the first sound comes early. */
export function createLocalVoice(options: LocalVoiceOptions): Synthesizer {
  const { backend, host, notices, choose } = options;
  return {
    backend,
    async *speak(request) {
      options.prepare?.();
      const choice = choose(request);
      const pieces = splitForSpeech(normalise(withoutProsody(request.text)));
      for (const [index, text] of pieces.entries()) {
        const { signal } = request;
        const work: UtteranceWork = { text, ...choice };
        const utterance = await host.ask<Utterance>(work, { signal, urgent: index === 0 });
        if (utterance.notice !== undefined) notices.tell(utterance.notice, utterance.notice);
        yield { samples: toInt16(trimmed(text, utterance)), sampleRate: utterance.sampleRate };
      }
    },
    close: () => host.close(),
  };
}

function trimmed(text: string, { samples, sampleRate }: Utterance): Float32Array {
  const after = /[.!?…]["')\]]?$/.test(text) ? pauses.afterSentence : pauses.afterClause;
  return trimSilence(samples, sampleRate, { before: pauses.before, after });
}
