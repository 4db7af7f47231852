// What was said and done in a call so far, assembled from the messages of the service.
import type { OrbState } from '../orb/motion.ts';
import type { ServerMessage } from './link.ts';

const MOST_ENTRIES = 200;

export interface Caption {
  kind: 'caption';
  id: number;
  who: 'you' | 'assistant';
  /** Final text. */
  text: string;
  /** Interim, or not yet spoken. */
  pending: string;
  typed: boolean;
  /** More may come. */
  open: boolean;
  /** The caller interrupted it. */
  cut: boolean;
  /** A typed text that did not reach the service. */
  unsent?: boolean;
}

export interface ToolStep {
  kind: 'tool';
  id: number;
  callId: string;
  name: string;
  input: string;
  state: 'running' | 'done' | 'failed' | 'held';
  result: string;
  /** The rule of the policy that held it, and why. */
  held?: { rule: string; why: string };
  startedAt: number;
  endedAt: number | undefined;
}

/** What the service has to tell beside the conversation: it waits for the model, or summarised older messages. */
interface Note {
  kind: 'note';
  id: number;
  text: string;
}

export type Entry = Caption | ToolStep | Note;

export interface Exchange {
  entries: readonly Entry[];
  activity: Exclude<OrbState, 'idle'>;
  hearing: boolean;
  /** From the end of the last question to the first sound of its answer. */
  latencyMs: number | undefined;
  /** When the caller last stopped speaking or sent a text; undefined once answered. */
  askedAt: number | undefined;
  /** The service still loads speech models: what is said is answered later. */
  loading: boolean;
  /** Nothing is answered until the caller is back. */
  onHold: boolean;
  /** The last error that the service reported. */
  warning: string | undefined;
}

export const NO_EXCHANGE: Exchange = {
  entries: [],
  activity: 'listening',
  hearing: false,
  latencyMs: undefined,
  askedAt: undefined,
  loading: false,
  onHold: false,
  warning: undefined,
};

export function take(exchange: Exchange, message: ServerMessage, now: number): Exchange {
  return HANDLERS[message.type]?.(exchange, message.data, now) ?? exchange;
}

export function typed(exchange: Exchange, text: string, now: number): Exchange {
  const settled = closeAssistant(exchange, 'whole');
  const caption = { ...captionOf(settled, 'you'), text, typed: true };
  return { ...settled, entries: added(settled, caption), activity: 'thinking', askedAt: now };
}

/** Marks the typed texts that did not reach the service, and no others. */
export function withUnsent(exchange: Exchange, ids: readonly number[]): Exchange {
  const entries = exchange.entries.map((entry) => {
    if (entry.kind !== 'caption' || (entry.unsent === true) === ids.includes(entry.id)) return entry;
    return { ...entry, unsent: ids.includes(entry.id) };
  });
  return { ...exchange, entries };
}

/** How an answer ended: complete, with a lost line, or by an interruption. */
type Ending = 'whole' | 'lost' | 'interrupted';

/** Closes what is still open: the line is gone, or nobody answered. */
export function settle(exchange: Exchange, ending: 'whole' | 'lost'): Exchange {
  const { entries } = closeAssistant(exchange, ending);
  const ended = entries.map((entry) =>
    entry.kind === 'tool' && entry.state === 'running' ? { ...entry, state: 'failed' as const } : entry,
  );
  const [loading, onHold] = ending === 'whole' ? [exchange.loading, exchange.onHold] : [false, false];
  const rest = { activity: 'listening' as const, hearing: false, askedAt: undefined };
  return { ...exchange, ...rest, entries: ended, loading, onHold };
}

type Fields = ServerMessage['data'];
type Handler = (exchange: Exchange, data: Fields, now: number) => Exchange;

const HANDLERS: Readonly<Record<string, Handler>> = {
  'user-started-speaking': (exchange) => ({ ...exchange, hearing: true, warning: undefined }),
  'user-stopped-speaking': (exchange, _data, now) => ({ ...exchange, hearing: false, askedAt: now }),
  'user-transcription': heard,
  'bot-llm-started': (exchange) => waiting(closeAssistant(exchange, 'whole')),
  'bot-llm-text': (exchange, data) => waiting(planned(exchange, textOf(data))),
  'bot-tts-text': (exchange, data) => spoken(exchange, textOf(data)),
  'bot-started-speaking': answered,
  'bot-stopped-speaking': (exchange) => ({ ...exchange, activity: afterSpeech(exchange) }),
  'bot-interrupted': (exchange) => ({ ...closeAssistant(exchange, 'interrupted'), activity: 'listening' }),
  'llm-function-call-started': toolStarted,
  'llm-function-call-stopped': toolStopped,
  metrics: measured,
  'server-message': notified,
  error: (exchange, data) => ({ ...exchange, warning: String(data.message ?? data.error ?? 'unknown') }),
};

// An interim transcript replaces the one before; final ones are joined.
function heard(exchange: Exchange, data: Fields): Exchange {
  const text = textOf(data).trim();
  if (text === '') return exchange;
  const last = exchange.entries.at(-1);
  if (last?.kind === 'caption' && last.typed && last.text === text) return exchange;
  const joins = last?.kind === 'caption' && last.who === 'you' && !last.typed;
  const base = joins ? last : captionOf(exchange, 'you');
  const next =
    data.final === true
      ? { ...base, text: joined(base.text, text), pending: '' }
      : { ...base, pending: text };
  const entries = joins ? [...exchange.entries.slice(0, -1), next] : added(exchange, next);
  const activity = data.final === true && exchange.activity === 'listening' ? 'thinking' : exchange.activity;
  return { ...exchange, entries, activity };
}

function waiting(exchange: Exchange): Exchange {
  return exchange.activity === 'speaking' ? exchange : { ...exchange, activity: 'thinking' };
}

// What the model writes is shown faintly until it is spoken.
function planned(exchange: Exchange, text: string): Exchange {
  return withAssistant(exchange, (caption) => ({ ...caption, pending: caption.pending + text }));
}

function spoken(exchange: Exchange, text: string): Exchange {
  return withAssistant(exchange, (caption) => ({
    ...caption,
    text: joined(caption.text, text.trim()),
    pending: withoutSpoken(caption.pending, text),
  }));
}

function answered(exchange: Exchange, _data: Fields, now: number): Exchange {
  const latencyMs = exchange.askedAt === undefined ? exchange.latencyMs : now - exchange.askedAt;
  return { ...exchange, activity: 'speaking', askedAt: undefined, latencyMs };
}

function afterSpeech({ entries }: Exchange): Exchange['activity'] {
  return entries.some((entry) => entry.kind === 'tool' && entry.state === 'running')
    ? 'thinking'
    : 'listening';
}

function toolStarted(exchange: Exchange, data: Fields, now: number): Exchange {
  const step: ToolStep = {
    kind: 'tool',
    id: nextId(exchange),
    callId: String(data.tool_call_id ?? ''),
    name: String(data.function_name ?? data.name ?? 'tool'),
    input: jsonText(data.arguments ?? data.args),
    state: 'running',
    result: '',
    startedAt: now,
    endedAt: undefined,
  };
  return waiting({ ...exchange, entries: added(exchange, step) });
}

function toolStopped(exchange: Exchange, data: Fields, now: number): Exchange {
  const result = jsonText(data.result);
  const failed = data.cancelled === true || result.startsWith('Error:');
  const held = heldOf(data.held);
  const state = held ? 'held' : failed ? 'failed' : 'done';
  const entries = exchange.entries.map((entry) =>
    entry.kind === 'tool' && entry.callId === String(data.tool_call_id ?? '') && entry.state === 'running'
      ? { ...entry, state: state as ToolStep['state'], result, endedAt: now, ...(held && { held }) }
      : entry,
  );
  return { ...exchange, entries };
}

function heldOf(value: unknown): ToolStep['held'] {
  if (typeof value !== 'object' || value === null || !('rule' in value) || !('why' in value))
    return undefined;
  return { rule: String(value.rule), why: String(value.why) };
}

// The service measures up to the packet it sends, which is more exact than what the page sees.
function measured(exchange: Exchange, { turn }: Fields): Exchange {
  const ms: unknown =
    typeof turn === 'object' && turn !== null ? Reflect.get(turn, 'first_packet_ms') : undefined;
  return typeof ms === 'number' ? { ...exchange, latencyMs: ms } : exchange;
}

function notified(exchange: Exchange, { type, text }: Fields): Exchange {
  const last = exchange.entries.at(-1);
  if (last?.kind === 'note' && last.text === text) return exchange;
  if (type === 'note' && typeof text === 'string')
    return { ...exchange, entries: added(exchange, { kind: 'note', id: nextId(exchange), text }) };
  if (type === 'call-held' || type === 'call-resumed') return { ...exchange, onHold: type === 'call-held' };
  if (type !== 'speech-loading' && type !== 'speech-ready') return exchange;
  return { ...exchange, loading: type === 'speech-loading' };
}

function withAssistant(exchange: Exchange, change: (caption: Caption) => Caption): Exchange {
  const index = exchange.entries.findLastIndex(isOpenAssistant);
  const newer = exchange.entries.slice(index + 1);
  // After the caller has spoken, text belongs to a new answer.
  const open = newer.some((entry) => entry.kind === 'caption' && entry.who === 'you')
    ? undefined
    : exchange.entries.find((entry, at): entry is Caption => at === index && isOpenAssistant(entry));
  if (open !== undefined) return { ...exchange, entries: exchange.entries.with(index, change(open)) };
  const settled = closeAssistant(exchange, 'whole');
  return { ...settled, entries: added(settled, change(captionOf(settled, 'assistant'))) };
}

function isOpenAssistant(entry: Entry): entry is Caption {
  return entry.kind === 'caption' && entry.who === 'assistant' && entry.open;
}

// Closes an answer with all that was written, or only what was spoken. One that a lost line left unspoken was read already.
function closeAssistant(exchange: Exchange, ending: Ending): Exchange {
  const entries = exchange.entries.flatMap((entry): Entry[] => {
    if (!isOpenAssistant(entry)) return [entry];
    const unspoken = entry.pending.trim();
    const isRead = ending === 'whole' || (ending === 'lost' && entry.text === '');
    const text = isRead ? joined(entry.text, unspoken) : entry.text;
    if (text === '') return [];
    return [{ ...entry, text, pending: '', open: false, cut: ending === 'interrupted' && unspoken !== '' }];
  });
  return { ...exchange, entries };
}

function withoutSpoken(pending: string, text: string): string {
  const words = text.trim();
  const at = pending.indexOf(words);
  return at < 0 ? pending : pending.slice(at + words.length);
}

function joined(before: string, text: string): string {
  if (before === '' || text === '') return before + text;
  return /^[.,;:!?…]/.test(text) ? before + text : `${before} ${text}`;
}

function captionOf(exchange: Exchange, who: Caption['who']): Caption {
  return {
    kind: 'caption',
    id: nextId(exchange),
    who,
    text: '',
    pending: '',
    typed: false,
    open: true,
    cut: false,
  };
}

function added(exchange: Exchange, entry: Entry): Entry[] {
  return [...exchange.entries, entry].slice(-MOST_ENTRIES);
}

function nextId({ entries }: Exchange): number {
  return (entries.at(-1)?.id ?? 0) + 1;
}

function textOf(data: Fields): string {
  return typeof data.text === 'string' ? data.text : '';
}

function jsonText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
