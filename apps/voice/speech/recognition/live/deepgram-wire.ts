import { z } from 'zod';
import { bytesOf } from '../../audio/samples.ts';
import {
  joinTexts,
  type LiveSettings,
  type LiveWire,
  LiveWireError,
  type LiveWireSession,
  sampleRate,
  type UtteranceKey,
} from './live-wire.ts';

/** Live transcription as Deepgram publishes it: `GET /v1/listen`, binary frames of sound, `Results` as text. */
export const deepgramWire: LiveWire = {
  name: 'deepgram',
  path: (settings) =>
    `/listen?${deepgramQuery(settings)}&encoding=linear16&sample_rate=${sampleRate}&channels=1&interim_results=true`,
  headers: deepgramHeaders,
  start: (_settings, send) => startDeepgram(send),
};

export function deepgramHeaders(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Token ${apiKey}` };
}

/** Model and language, as live speech and files take them. */
export function deepgramQuery({ model, language }: LiveSettings): string {
  const query = new URLSearchParams({ punctuate: 'true' });
  // The default of STT_MODEL is no model of such endpoints; they have a default of their own.
  if (model !== 'whisper-1') query.set('model', model);
  if (language !== undefined) query.set('language', language);
  else if (/^nova-[23](-general)?$/.test(model)) query.set('language', 'multi');
  return query.toString();
}

const resultsSchema = z.object({
  type: z.literal('Results'),
  /** Seconds of the whole connection. */
  start: z.number(),
  duration: z.number(),
  is_final: z.boolean().optional(),
  speech_final: z.boolean().optional(),
  from_finalize: z.boolean().optional(),
  channel: z.object({ alternatives: z.array(z.object({ transcript: z.string() })) }),
});

const errorSchema = z.union([
  z.object({ type: z.literal('Error'), description: z.string() }),
  z.object({ err_msg: z.string() }).transform(({ err_msg }) => ({ description: err_msg })),
]);

interface Utterance {
  key: UtteranceKey;
  /** Samples of the connection before it. */
  from: number;
  /** Samples up to its last sound. */
  to: number;
  /** Samples up to the last `Finalize`; undefined once that is answered. */
  awaited: number | undefined;
  flushedTo: number;
  /** Samples up to the `Finalize` before that. */
  answeredTo: number;
  /** Samples up to the end of the last final piece. */
  heardTo: number;
  /** Final pieces by their start. */
  finals: Map<number, string>;
  interim: string;
}

/** Times of results are rounded, and a last scrap of silence may be left out. */
const tolerance = 0.1 * sampleRate;
/** Later results of utterances before these are nobody's. */
const mostUtterances = 16;

function startDeepgram(send: (message: string | Uint8Array<ArrayBuffer>) => void): LiveWireSession {
  const utterances: Utterance[] = [];
  let sent = 0;
  const find = (key: UtteranceKey) => utterances.find((each) => each.key === key);
  const begin = (key: UtteranceKey) => {
    const utterance: Utterance = {
      key,
      from: sent,
      to: sent,
      awaited: undefined,
      flushedTo: sent,
      answeredTo: sent,
      heardTo: sent,
      finals: new Map(),
      interim: '',
    };
    utterances.push(utterance);
    if (utterances.length > mostUtterances) utterances.shift();
    return utterance;
  };
  const flush = (utterance: Utterance | undefined) => {
    if (utterance === undefined || utterance.flushedTo === utterance.to) return;
    send(JSON.stringify({ type: 'Finalize' }));
    utterance.answeredTo = utterance.flushedTo;
    utterance.flushedTo = utterance.to;
    utterance.awaited = utterance.to;
  };
  const takeResults = (results: z.output<typeof resultsSchema>) => {
    const start = results.start * sampleRate;
    const end = start + results.duration * sampleRate;
    const text = results.channel.alternatives[0]?.transcript ?? '';
    const middle = (start + end) / 2;
    const utterance = utterances.findLast(({ from }) => from <= middle);
    const isFinal = results.is_final === true || results.speech_final === true;
    if (utterance !== undefined) {
      utterance.interim = isFinal ? '' : text;
      if (isFinal && text !== '') utterance.finals.set(start, text);
      if (isFinal) utterance.heardTo = Math.max(utterance.heardTo, end);
    }
    if (!isFinal) return;
    if (results.from_finalize === true) {
      // Some servers tell no times; then answers come in the order of the questions.
      const first = utterances.find(({ awaited }) => awaited !== undefined);
      if (first !== undefined && (end === 0 || end > first.answeredTo + tolerance)) first.awaited = undefined;
    }
    for (const each of utterances)
      if (each.awaited !== undefined && each.awaited <= end + tolerance) each.awaited = undefined;
  };
  return {
    push(key, samples) {
      const utterance = find(key) ?? begin(key);
      send(bytesOf(samples));
      sent += samples.length;
      utterance.to = sent;
    },
    flush: (key) => flush(find(key)),
    abandon: (key) => flush(find(key)),
    receive(message) {
      const error = errorSchema.safeParse(message);
      if (error.success) throw new LiveWireError(error.data.description);
      const results = resultsSchema.safeParse(message);
      if (results.success) takeResults(results.data);
    },
    transcript(key) {
      const { finals, interim = '' } = find(key) ?? {};
      const pieces = [...(finals ?? [])].toSorted(([left], [right]) => left - right);
      return joinTexts([...pieces.map(([, text]) => text), interim]);
    },
    state(key) {
      const utterance = find(key);
      if (utterance?.awaited === undefined) return 'final';
      // A `Finalize` after which nothing is left to say may stay without an answer.
      const isHeard = utterance.heardTo > utterance.answeredTo + tolerance;
      return isHeard && utterance.interim === '' ? 'quiet' : 'open';
    },
    keepAlive: () => send(JSON.stringify({ type: 'KeepAlive' })),
    goodbye: () => send(JSON.stringify({ type: 'CloseStream' })),
  };
}
