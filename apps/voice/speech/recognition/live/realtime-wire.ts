import { z } from 'zod';
import { StreamResampler } from '../../audio/resample.ts';
import { toInt16 } from '../../audio/samples.ts';
import {
  joinTexts,
  type LiveSettings,
  type LiveWire,
  LiveWireError,
  type LiveWireSession,
  sampleRate,
  type UtteranceKey,
} from './live-wire.ts';

/** The only rate of sound that the format has. */
const wireRate = 24_000;

/** Live transcription as OpenAI publishes it: a transcription session of the Realtime API. */
export const realtimeWire: LiveWire = {
  name: 'realtime',
  path: () => '/realtime?intent=transcription',
  headers: bearerHeaders,
  start: startRealtime,
};

export function bearerHeaders(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

const prefix = 'conversation.item.input_audio_transcription.';
const itemSchema = z.object({ item_id: z.string() });
const eventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.updated') }),
  z.object({ type: z.literal('input_audio_buffer.committed'), ...itemSchema.shape }),
  z.object({ type: z.literal(`${prefix}delta`), ...itemSchema.shape, delta: z.string() }),
  z.object({ type: z.literal(`${prefix}completed`), ...itemSchema.shape, transcript: z.string() }),
  z.object({ type: z.literal(`${prefix}failed`), ...itemSchema.shape }),
  z.object({
    type: z.literal('error'),
    error: z.object({
      message: z.string(),
      code: z.string().nullish(),
      event_id: z.string().nullish(),
    }),
  }),
]);
type RealtimeError = Extract<z.output<typeof eventSchema>, { type: 'error' }>['error'];

/** A stretch of sound between two commits. */
interface Segment {
  key: UtteranceKey;
  samples: number;
  /** The id of our commit event. */
  commit: string | undefined;
  isAcknowledged: boolean;
  /** The endpoint's item; texts of items may come in any order. */
  item: string | undefined;
  /** So far, by deltas. */
  partial: string;
  final: string | undefined;
  failed: boolean;
}

/** The endpoint refuses to commit less. */
const leastSamples = 0.1 * sampleRate;
const mostSegments = 64;

function startRealtime({ model, language }: LiveSettings, send: (message: string) => void): LiveWireSession {
  const segments: Segment[] = [];
  const resampler = new StreamResampler(wireRate);
  let commits = 0;
  let isAccepted = false;
  const say = (event: object) => send(JSON.stringify(event));
  const transcription = { model, ...(language !== undefined && { language }) };
  const input = {
    format: { type: 'audio/pcm', rate: wireRate },
    transcription,
    // We decide when a turn ends.
    turn_detection: null,
  };
  say({ type: 'session.update', session: { type: 'transcription', audio: { input } } });

  const uncommitted = () => segments.findLast(({ commit }) => commit === undefined);
  const clear = () => {
    const left = uncommitted();
    if (left === undefined) return;
    say({ type: 'input_audio_buffer.clear' });
    if (left.item === undefined) segments.splice(segments.indexOf(left), 1);
    // Late texts of its item are still known for what they are.
    else Object.assign(left, { commit: 'cleared', isAcknowledged: true, final: '' });
  };
  const begin = (key: UtteranceKey) => {
    clear();
    const segment: Segment = {
      key,
      samples: 0,
      commit: undefined,
      isAcknowledged: false,
      item: undefined,
      partial: '',
      final: undefined,
      failed: false,
    };
    segments.push(segment);
    if (segments.length > mostSegments) segments.shift();
    return segment;
  };
  /** The segment of an item. An item that is new belongs to the first segment without one. */
  const ofItem = (item: string) => {
    const known = segments.find((each) => each.item === item);
    const segment = known ?? segments.find((each) => each.item === undefined && !each.isAcknowledged);
    if (segment !== undefined) segment.item = item;
    return segment;
  };
  /** Commits are acknowledged in their order, so that this is sure which item a segment is. */
  const acknowledge = (item: string) => {
    const segment = segments.find((each) => each.commit !== undefined && !each.isAcknowledged);
    if (segment === undefined) return;
    if (segment.item !== item) segment.partial = '';
    Object.assign(segment, { item, isAcknowledged: true });
  };
  const takeError = ({ message, code, event_id: event }: RealtimeError) => {
    const concernsKey = code === 'invalid_api_key';
    if (!isAccepted || concernsKey || code === 'session_expired')
      throw new LiveWireError(message, concernsKey);
    const isEmpty = code === 'input_audio_buffer_commit_empty' || /buffer (is empty|too small)/.test(message);
    const unanswered = segments.filter((each) => each.commit !== undefined && !each.isAcknowledged);
    const segment = segments.find(({ commit }) => commit !== undefined && commit === event);
    const concerned = segment ?? (isEmpty ? unanswered[0] : undefined);
    // Without a name nobody knows which item comes next, so that another connection is better.
    if (concerned === undefined) throw new LiveWireError(message);
    Object.assign(concerned, { isAcknowledged: true, failed: !isEmpty, ...(isEmpty && { final: '' }) });
  };
  return {
    push(key, samples) {
      const current = uncommitted();
      const segment = current?.key === key ? current : begin(key);
      segment.samples += samples.length;
      const { samples: resampled } = resampler.push({ samples: toInt16(samples), sampleRate });
      const bytes = Buffer.from(resampled.buffer, resampled.byteOffset, resampled.byteLength);
      say({ type: 'input_audio_buffer.append', audio: bytes.toString('base64') });
    },
    flush(key) {
      const segment = uncommitted();
      if (segment?.key !== key || segment.samples < leastSamples) return;
      commits += 1;
      segment.commit = `commit_${commits}`;
      say({ type: 'input_audio_buffer.commit', event_id: segment.commit });
    },
    abandon(key) {
      if (uncommitted()?.key === key) clear();
    },
    receive(message) {
      const parsed = eventSchema.safeParse(message);
      if (!parsed.success) return;
      const event = parsed.data;
      if (event.type === 'session.updated') isAccepted = true;
      else if (event.type === 'error') takeError(event.error);
      else if (event.type === 'input_audio_buffer.committed') acknowledge(event.item_id);
      else {
        const segment = ofItem(event.item_id);
        if (segment === undefined) return;
        if (event.type === `${prefix}delta`) segment.partial += event.delta;
        else if (event.type === `${prefix}completed`) segment.final = event.transcript;
        else if (event.type === `${prefix}failed`) segment.failed = true;
      }
    },
    transcript: (key) =>
      joinTexts(segments.filter((each) => each.key === key).map(({ final, partial }) => final ?? partial)),
    state(key) {
      const mine = segments.filter((each) => each.key === key && each.commit !== undefined);
      if (mine.some(({ failed }) => failed)) return 'failed';
      return mine.every(({ final }) => final !== undefined) ? 'final' : 'open';
    },
  };
}
