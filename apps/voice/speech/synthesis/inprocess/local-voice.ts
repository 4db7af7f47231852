import { toInt16 } from '../../audio/samples.ts';
import type { SpeechWarnings } from '../../warnings.ts';
import type { WorkerHost } from '../../worker/host.ts';
import { type SpeechRequest, type Synthesizer, withoutProsody } from '../synthesizer.ts';
import { normalise } from './normalise.ts';

/** Softer is silence: -46 dB of full scale. */
const silent = 0.005;

/** The first piece is short, so that the caller hears something soon. */
const shortFirst = 60;

/** Far below the model's limit (510 symbols), so that other callers get their turn. */
const longest = 160;

interface LocalVoiceOptions {
  backend: string;
  host: WorkerHost;
  warnings: SpeechWarnings;
  /** Called before the worker is asked. */
  prepare?(): void;
  choose(request: SpeechRequest): Omit<UtteranceWork, 'text'>;
}

/** Seconds of silence kept around a piece. */
const pauses = { before: 0.02, afterClause: 0.12, afterSentence: 0.28 };

/** A local voice. It speaks piece by piece, so that callers take turns and the first sound comes early. */
export function createLocalVoice(options: LocalVoiceOptions): Synthesizer {
  const { backend, host, warnings, choose } = options;
  return {
    backend,
    async *speak(request) {
      options.prepare?.();
      const choice = choose(request);
      const pieces = splitForSpeech(normalise(withoutProsody(request.text), choice.language));
      for (const [index, text] of pieces.entries()) {
        const { signal } = request;
        const work: UtteranceWork = { text, ...choice };
        const utterance = await host.ask<Utterance>(work, { signal, urgent: index === 0 });
        if (utterance.notice !== undefined) warnings.report(utterance.notice, utterance.notice);
        yield { samples: toInt16(trimmed(text, utterance)), sampleRate: utterance.sampleRate };
      }
    },
    close: () => host.close(),
  };
}

function trimmed(text: string, { samples, sampleRate }: Utterance): Float32Array {
  const after = /[.!?…।]["')\]]?$/.test(text) ? pauses.afterSentence : pauses.afterClause;
  return trimSilence(samples, sampleRate, { before: pauses.before, after });
}

/** Splits a text into sentences, and long ones into clauses. */
export function splitForSpeech(text: string): string[] {
  const sentences = text
    .split(/(?<=[.!?…।]["')\]]?)\s+(?=\S)/)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
  const [first, ...rest] = sentences;
  if (first === undefined) return [];
  return [...shortened(first, shortFirst), ...rest].flatMap((sentence) => fitted(sentence));
}

/** Separates the first clause of a long sentence. */
function shortened(sentence: string, most: number): string[] {
  if (sentence.length <= most) return [sentence];
  const clause = /^.{12,60}?[,;:–—](?=\s)/.exec(sentence)?.[0];
  return clause === undefined ? [sentence] : [clause, sentence.slice(clause.length).trim()];
}

function fitted(text: string): string[] {
  if (text.length <= longest) return [text];
  const window = text.slice(0, longest);
  const clause = Math.max(...[',', ';', ':', '—', '–'].map((mark) => window.lastIndexOf(`${mark} `)));
  const blank = window.lastIndexOf(' ');
  const at = clause > longest / 3 ? clause + 1 : blank > 0 ? blank : longest;
  return [text.slice(0, at), ...fitted(text.slice(at).trim())];
}

/** Trims the silence at both ends to the given seconds, so that pieces follow each other in one breath. */
function trimSilence(
  samples: Float32Array,
  sampleRate: number,
  keep: { before: number; after: number },
): Float32Array {
  const first = samples.findIndex((sample) => Math.abs(sample) > silent);
  if (first < 0) return samples.subarray(0, 0);
  const last = samples.findLastIndex((sample) => Math.abs(sample) > silent);
  const from = Math.max(0, first - Math.round(keep.before * sampleRate));
  return samples.subarray(from, Math.min(samples.length, last + 1 + Math.round(keep.after * sampleRate)));
}

export interface UtteranceWork {
  text: string;
  voice: string;
  /** Letter of the language. */
  language: string;
}

export interface Utterance {
  samples: Float32Array;
  sampleRate: number;
  notice?: string | undefined;
}
