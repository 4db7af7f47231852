import { fieldsOf, type LineMessage } from '../call/line.ts';

/** A call as it went: what its page was sent, and when. */
export interface Timeline {
  title: string;
  startedAt: Date;
  lengthMs: number;
  events: readonly TimelineEvent[];
  /** Where sound was really heard; only who plays a recording knows. */
  sound?: { caller: readonly Span[]; bot: readonly Span[] } | undefined;
}

export interface TimelineEvent {
  /** Milliseconds since the start. */
  atMs: number;
  message: LineMessage;
}

export interface Span {
  fromMs: number;
  toMs: number;
}

type Tone = 'caller' | 'bot' | 'decision' | 'tool' | 'problem' | 'plain';

/** Something that happened, on its track. */
export interface TimelineItem extends Span {
  track: TrackName;
  tone: Tone;
  text: string;
  /** The reason of a decision, the result of a tool. */
  detail?: string | undefined;
}

export const tracks = [
  'Caller, as played',
  'Caller, as detected',
  'Understood',
  'Decisions',
  'Model',
  'Tools',
  'Bot, as sent',
  'Bot, as heard',
  'Notes',
] as const;
type TrackName = (typeof tracks)[number];

/** Messages that say nothing about the course of a call. */
const skipped = new Set(['bot-llm-text', 'bot-ready', 'client-ready']);

/** Whether a message belongs on the timeline. Partial transcripts do not: the final one replaces them. */
export function isTimelineMessage({ type, data }: LineMessage): boolean {
  if (type === 'user-transcription') return fieldsOf(data).final === true;
  return !skipped.has(type);
}

/** What happened, in order of its beginning. */
export function itemsOf({ events, sound, lengthMs }: Timeline): TimelineItem[] {
  const reader = new TimelineReader(lengthMs);
  for (const { atMs, message } of events) if (isTimelineMessage(message)) reader.read(atMs, message);
  const heard = [
    ...(sound?.caller ?? []).map((span) => ({ ...span, ...soundItem('Caller, as played', 'caller') })),
    ...(sound?.bot ?? []).map((span) => ({ ...span, ...soundItem('Bot, as heard', 'bot') })),
  ];
  return [...reader.items, ...heard].toSorted((left, right) => left.fromMs - right.fromMs);
}

const soundItem = (track: TrackName, tone: Tone) => ({ track, tone, text: '' });

/** From the end of what the caller says to the first sound of the bot after it, as heard. */
export function heardGapsMs({ sound }: Timeline): number[] {
  return (sound?.caller ?? []).flatMap(({ toMs }, index, all) => {
    const next = all[index + 1]?.fromMs ?? Infinity;
    const answer = sound?.bot.find(({ fromMs }) => fromMs >= toMs && fromMs < next);
    return answer === undefined ? [] : [Math.round(answer.fromMs - toMs)];
  });
}

/** Joins what begins with one message and ends with another. */
class TimelineReader {
  readonly items: TimelineItem[] = [];
  readonly #lengthMs: number;
  readonly #open = new Map<string, TimelineItem>();

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  read(atMs: number, { type, data }: LineMessage): void {
    const fields = fieldsOf(data);
    const text = String(fields.text ?? '');
    if (type === 'user-started-speaking') this.#begin(type, atMs, 'Caller, as detected', 'caller', '');
    else if (type === 'user-stopped-speaking') this.#end('user-started-speaking', atMs);
    else if (type === 'user-transcription') this.#add(atMs, 'Understood', 'caller', text);
    else if (type === 'bot-llm-started') this.#begin(type, atMs, 'Model', 'plain', 'generating');
    else if (type === 'bot-llm-stopped') this.#end('bot-llm-started', atMs);
    else if (type === 'bot-started-speaking') this.#begin(type, atMs, 'Bot, as sent', 'bot', '');
    else if (type === 'bot-tts-text') this.#addWord(text);
    else if (type === 'bot-stopped-speaking') this.#end('bot-started-speaking', atMs);
    else if (type === 'bot-interrupted') this.#interrupt(atMs);
    else if (type.startsWith('llm-function-call-')) this.#readTool(type, atMs, fields);
    else if (type === 'server-message') this.#readServerMessage(atMs, fields);
    else if (type === 'error') this.#add(atMs, 'Notes', 'problem', String(fields.message));
    else if (type === 'metrics') this.#readMetrics(atMs, fields);
  }

  #readTool(type: string, atMs: number, fields: Record<string, unknown>): void {
    const key = `tool ${fields.tool_call_id}`;
    const name = String(fields.function_name);
    if (type.endsWith('started')) {
      const item = this.#begin(key, atMs, 'Tools', 'tool', name);
      item.detail = JSON.stringify(fields.arguments ?? {});
      return;
    }
    const item = this.#end(key, atMs);
    if (item === undefined) return;
    const outcome = fields.cancelled === true ? 'cancelled' : String(fields.result);
    item.detail = `${item.detail ?? ''} → ${outcome}`;
  }

  #readServerMessage(atMs: number, fields: Record<string, unknown>): void {
    if (fields.type === 'decision')
      this.#add(
        atMs,
        'Decisions',
        'decision',
        String(fields.decision).replaceAll('-', ' '),
        String(fields.reason),
      );
    else this.#add(atMs, 'Notes', 'plain', String(fields.text ?? fields.type));
  }

  /** The page is sent the latency of a turn with its first sound. */
  #readMetrics(atMs: number, { turn }: Record<string, unknown>): void {
    const steps = Object.entries(fieldsOf(turn)).filter(([, ms]) => typeof ms === 'number');
    const detail = steps.map(([step, ms]) => `${step.replace(/_ms$/, '').replaceAll('_', ' ')} ${ms} ms`);
    const [, answered] = steps.find(([step]) => step === 'first_packet_ms') ?? [];
    if (answered !== undefined)
      this.#add(atMs, 'Notes', 'plain', `answered after ${answered} ms`, detail.join(', '));
  }

  #addWord(text: string): void {
    const speech = this.#open.get('bot-started-speaking') ?? this.#last('Bot, as sent');
    if (speech !== undefined) speech.text = speech.text === '' ? text : `${speech.text} ${text}`;
  }

  #interrupt(atMs: number): void {
    const speech = this.#last('Bot, as sent');
    if (speech !== undefined && atMs - speech.toMs < 1000) speech.detail = 'interrupted';
    this.#end('bot-llm-started', atMs);
  }

  #begin(key: string, atMs: number, track: TrackName, tone: Tone, text: string): TimelineItem {
    this.#end(key, atMs);
    const item: TimelineItem = { fromMs: atMs, toMs: this.#lengthMs, track, tone, text };
    this.items.push(item);
    this.#open.set(key, item);
    return item;
  }

  #end(key: string, atMs: number): TimelineItem | undefined {
    const item = this.#open.get(key);
    if (item !== undefined) item.toMs = atMs;
    this.#open.delete(key);
    return item;
  }

  #add(atMs: number, track: TrackName, tone: Tone, text: string, detail?: string): void {
    this.items.push({ fromMs: atMs, toMs: atMs, track, tone, text, detail });
  }

  #last(track: TrackName): TimelineItem | undefined {
    return this.items.findLast((item) => item.track === track);
  }
}
