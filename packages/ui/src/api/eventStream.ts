import { createParser } from 'eventsource-parser';
import { type ApiError, answerError, asApiError, unreachedError } from './api.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
// Services send a comment at least every 15 s; three missed ones mean that the line is dead.
const SILENCE_LIMIT_MS = 45_000;

export type StreamState =
  | { name: 'connecting' }
  | { name: 'open' }
  /** Lost; connects again by itself after the pause. */
  | { name: 'waiting'; pauseMs: number; error: ApiError }
  /** The service said no; connecting again would not help. */
  | { name: 'refused'; error: ApiError }
  /** Ended by either side for good. */
  | { name: 'closed' };

export interface EventStreamOptions {
  url: string;
  headers(): Record<string, string>;
  onEvent(event: StreamEvent): void;
  onState(state: StreamState): void;
  /** Only what came after this event is sent. */
  lastEventId?: string;
  silenceLimitMs?: number;
  firstPauseMs?: number;
}

export interface EventStream {
  close(): void;
  /** Connects at once instead of after the pause. */
  reconnect(): void;
}

/** Reads server-sent events with fetch, so that a key can be sent; connects again with Last-Event-ID after a loss. */
export function openEventStream(options: EventStreamOptions): EventStream {
  const closing = new AbortController();
  let wake: (() => void) | undefined;
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  void follow(options, closing.signal, pause);
  return {
    close() {
      closing.abort();
      wake?.();
      options.onState({ name: 'closed' });
    },
    reconnect: () => wake?.(),
  };
}

async function follow(
  options: EventStreamOptions,
  signal: AbortSignal,
  pause: (milliseconds: number) => Promise<void>,
): Promise<void> {
  const position: Position = { lastEventId: options.lastEventId ?? '', failures: 0, retryMs: undefined };
  while (!signal.aborted) {
    options.onState({ name: 'connecting' });
    const end = await connectOnce(options, position, signal);
    if (signal.aborted) return;
    if (end.name !== 'lost') return options.onState(end);
    const pauseMs = pauseAfter(position, options.firstPauseMs ?? FIRST_PAUSE_MS);
    position.failures += 1;
    options.onState({ name: 'waiting', pauseMs, error: end.error });
    await pause(pauseMs);
  }
}

interface Position {
  lastEventId: string;
  /** Since the last event or comment. */
  failures: number;
  retryMs: number | undefined;
}

type End = { name: 'lost'; error: ApiError } | { name: 'refused'; error: ApiError } | { name: 'closed' };

async function connectOnce(
  options: EventStreamOptions,
  position: Position,
  signal: AbortSignal,
): Promise<End> {
  const silence = silenceWatch(options.silenceLimitMs ?? SILENCE_LIMIT_MS);
  try {
    const response = await fetch(options.url, {
      headers: { accept: 'text/event-stream', ...resumeHeader(position), ...options.headers() },
      cache: 'no-store',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    // By the standard, 204 asks the reader not to come back.
    if (response.status === 204) return { name: 'closed' };
    if (!response.ok || response.body === null) return refusal(response);
    options.onState({ name: 'open' });
    await readEvents(response.body, options, position, silence);
    return { name: 'lost', error: unreachedError(undefined) };
  } catch (error) {
    return { name: 'lost', error: signal.aborted ? asApiError(error) : unreachedError(error) };
  } finally {
    silence.stop();
  }
}

function resumeHeader({ lastEventId }: Position): Record<string, string> {
  return lastEventId === '' ? {} : { 'last-event-id': lastEventId };
}

async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  options: EventStreamOptions,
  position: Position,
  silence: SilenceWatch,
): Promise<void> {
  const parser = createParser({
    onEvent({ id = position.lastEventId, event = 'message', data }) {
      position.lastEventId = id;
      // On its own, so that a failure of the listener does not count as one of the connection.
      queueMicrotask(() => options.onEvent({ id, event, data }));
    },
    onRetry(milliseconds) {
      position.retryMs = milliseconds;
    },
  });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    silence.restart();
    position.failures = 0;
    parser.feed(value);
  }
}

// A busy or failing service may recover; what it refuses for good stays refused.
async function refusal(response: Response): Promise<End> {
  const error = answerError(
    response.status,
    await response.json().catch(() => undefined),
    response.headers.get('x-error-code'),
  );
  const passing = response.status === 429 || response.status >= 500;
  return { name: passing ? 'lost' : 'refused', error };
}

// Doubles with each failure; the random part keeps many pages from coming back in the same instant.
function pauseAfter({ failures, retryMs }: Position, firstPauseMs: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, (retryMs ?? firstPauseMs) * 2 ** failures);
  return Math.round(longest * (0.5 + Math.random() / 2));
}

interface SilenceWatch {
  signal: AbortSignal;
  restart(): void;
  stop(): void;
}

function silenceWatch(limitMs: number): SilenceWatch {
  const controller = new AbortController();
  const start = () => setTimeout(() => controller.abort(new DOMException('Silent', 'TimeoutError')), limitMs);
  let timer = start();
  return {
    signal: controller.signal,
    restart() {
      clearTimeout(timer);
      timer = start();
    },
    stop: () => clearTimeout(timer),
  };
}

export interface StreamEvent {
  /** The last id that the stream gave, with this event or before it. */
  id: string;
  /** "message" when the stream names none. */
  event: string;
  data: string;
}
