import { parseJson } from '@trunkline/http';
import { SpeechError } from '../../speech-error.ts';
import type { LiveUtterance } from '../recognizer.ts';
import { type LiveWire, LiveWireError, type LiveWireSession, sampleRate } from './live-wire.ts';

export interface LiveEndpoint {
  /** STT_URL. */
  url: string;
  apiKey: string | undefined;
  model: string;
  limits?: LiveLimits | undefined;
}

/** Milliseconds. */
export interface LiveLimits {
  connect: number;
  /** For the final text after the last sound. */
  finish: number;
  /** After this long without an answer, an utterance of which nothing is left open is final. */
  quiet: number;
  /** Nobody spoke: the connection is closed. */
  idle: number;
  keepAlive: number;
}

const standardLimits: LiveLimits = {
  connect: 5000,
  finish: 3000,
  quiet: 700,
  idle: 30_000,
  keepAlive: 4000,
};

interface LiveConnectionEvents {
  onOpen(wire: LiveWire): void;
  /** A text has become final. */
  onHeard(): void;
  /** A final text did not come, though the connection stands. */
  onMissed(error: unknown): void;
  /** Without an error: closed because nobody spoke, or by ourselves. */
  onClosed(error: Error | undefined, wasOpen: boolean): void;
}

/** Sound that waits for the connection; a recording is not longer. */
const mostWaitingSamples = 60 * sampleRate;
/** An endpoint that reads no more is left. */
const mostBufferedBytes = 4 * 2 ** 20;
/** A message is a sentence with its words. */
const mostMessageLength = 2 ** 20;
/** All messages about one utterance, those before its final text included. */
const mostReceivedLength = 16 * 2 ** 20;

/** One connection, on which the utterances of a call follow each other. */
export class LiveConnection {
  readonly #limits: LiveLimits;
  readonly #events: LiveConnectionEvents;
  readonly #lost = new AbortController();
  readonly #checks = new Set<() => void>();
  #waiting: ((session: LiveWireSession) => void)[] = [];
  #waitingSamples = 0;
  #socket: WebSocket | undefined;
  #session: LiveWireSession | undefined;
  #idle: NodeJS.Timeout | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #speaking = 0;
  /** Characters received since the newest utterance began. */
  #receivedLength = 0;
  /** The newest utterance. */
  #current: object | undefined;

  constructor(
    endpoint: LiveEndpoint,
    wires: readonly LiveWire[],
    language: string | undefined,
    events: LiveConnectionEvents,
  ) {
    this.#limits = endpoint.limits ?? standardLimits;
    this.#events = events;
    void this.#open(endpoint, wires, language);
  }

  /** The next utterance, which ends the one before; `signal` says that nobody waits for it any more. */
  listen(signal: AbortSignal): LiveUtterance {
    const key = {};
    const before = this.#current;
    this.#current = key;
    this.#receivedLength = 0;
    if (before !== undefined) this.#run((session) => session.abandon(before));
    const lost = this.#lost.signal;
    this.#speaking += 1;
    clearTimeout(this.#idle);
    const end = () => {
      this.#speaking -= 1;
      this.#run((session) => session.abandon(key));
      if (this.#speaking === 0) this.#restUntilSpoken();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    const read = (session = this.#session) => session?.transcript(key) ?? '';
    return {
      get isHeard() {
        return !lost.aborted;
      },
      get transcript() {
        return read();
      },
      push: (samples) => {
        if (signal.aborted) return;
        if (this.#session === undefined) this.#waitingSamples += samples.length;
        this.#run((session) => session.push(key, samples));
      },
      finish: (given) => this.#finish(key, given === undefined ? signal : AbortSignal.any([signal, given])),
    };
  }

  close(error?: Error): void {
    if (this.#lost.signal.aborted) return;
    const session = this.#session;
    clearTimeout(this.#idle);
    clearInterval(this.#keepAlive);
    this.#session = undefined;
    this.#waiting = [];
    this.#lost.abort(error ?? new SpeechError('closed', 'the live transcription is closed'));
    // After the end: a farewell that the endpoint does not take closes nothing again.
    if (this.#socket?.readyState === WebSocket.OPEN) {
      session?.goodbye?.();
      this.#socket.close();
    }
    this.#events.onClosed(error, session !== undefined);
  }

  async #open(
    endpoint: LiveEndpoint,
    wires: readonly LiveWire[],
    language: string | undefined,
  ): Promise<void> {
    const limit = AbortSignal.any([this.#lost.signal, AbortSignal.timeout(this.#limits.connect)]);
    try {
      const { socket, wire } = await openFirst(endpoint, wires, language, limit);
      if (this.#lost.signal.aborted) return socket.close();
      const settings = { model: endpoint.model, language };
      this.#take(
        socket,
        wire,
        wire.start(settings, (message) => this.#send(socket, message)),
      );
    } catch (error) {
      this.close(asSpeechError(error));
    }
  }

  #take(socket: WebSocket, wire: LiveWire, session: LiveWireSession): void {
    this.#socket = socket;
    this.#session = session;
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    // A close follows.
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', ({ code, reason }) => {
      const said = reason === '' ? `${code}` : `${code}, ${reason.slice(0, 200)}`;
      const error = new SpeechError('unreachable', `the endpoint closed the connection (${said})`);
      this.close(this.#speaking === 0 ? undefined : error);
    });
    if (session.keepAlive !== undefined) {
      this.#keepAlive = setInterval(() => session.keepAlive?.(), this.#limits.keepAlive).unref();
    }
    this.#events.onOpen(wire);
    for (const work of this.#waiting.splice(0)) work(session);
  }

  #send(socket: WebSocket, message: string | Uint8Array<ArrayBuffer>): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(message);
    if (socket.bufferedAmount > mostBufferedBytes)
      this.close(new SpeechError('busy', 'the endpoint does not take the sound as fast as it is spoken'));
  }

  #receive(data: unknown): void {
    if (this.#session === undefined || typeof data !== 'string') return;
    this.#receivedLength += data.length;
    if (this.#receivedLength > mostReceivedLength) {
      this.close(new SpeechError('unreadable', 'the endpoint sends texts without an end; check STT_URL'));
      return;
    }
    if (data.length > mostMessageLength) return;
    const message = parsed(data);
    try {
      this.#session.receive(message);
    } catch (error) {
      this.close(asSpeechError(error));
    }
    for (const check of [...this.#checks]) check();
  }

  /** Now, or as soon as the connection is open. */
  #run(work: (session: LiveWireSession) => void): void {
    if (this.#lost.signal.aborted) return;
    if (this.#session !== undefined) work(this.#session);
    else if (this.#waitingSamples <= mostWaitingSamples) this.#waiting.push(work);
    else this.close(new SpeechError('timeout', 'the endpoint does not open the connection; check STT_URL'));
  }

  async #finish(key: object, given: AbortSignal): Promise<string> {
    const { finish, quiet } = this.#limits;
    const late = new AbortController();
    const signal = AbortSignal.any([given, this.#lost.signal, late.signal]);
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let isFlushed = false;
    let isQuiet = false;
    const check = () => {
      const state = isFlushed ? this.#session?.state(key) : undefined;
      if (state === 'failed')
        reject(new SpeechError('refused', 'the endpoint could not transcribe this utterance'));
      else if (state === 'final' || (state === 'quiet' && isQuiet))
        resolve(this.#session?.transcript(key) ?? '');
    };
    const tooLate = new SpeechError('timeout', `the final text took longer than ${finish / 1000} s`);
    const timers = [
      setTimeout(
        () => late.abort(tooLate),
        finish + (this.#session === undefined ? this.#limits.connect : 0),
      ),
      setTimeout(() => {
        isQuiet = true;
        check();
      }, quiet),
    ];
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#checks.add(check);
    this.#run((session) => {
      session.flush(key);
      isFlushed = true;
      check();
    });
    try {
      const text = await promise;
      this.#events.onHeard();
      return text;
    } catch (error) {
      if (!given.aborted && !this.#lost.signal.aborted) this.#events.onMissed(error);
      throw error;
    } finally {
      for (const timer of timers) clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      this.#checks.delete(check);
    }
  }

  #restUntilSpoken(): void {
    clearTimeout(this.#idle);
    if (!this.#lost.signal.aborted) this.#idle = setTimeout(() => this.close(), this.#limits.idle).unref();
  }
}

/** What is no JSON is no message of any format. */
function parsed(data: string): unknown {
  try {
    return parseJson(data);
  } catch {
    return undefined;
  }
}

/** Opens a connection in the first of these formats that the endpoint has. */
async function openFirst(
  endpoint: LiveEndpoint,
  wires: readonly LiveWire[],
  language: string | undefined,
  signal: AbortSignal,
): Promise<{ socket: WebSocket; wire: LiveWire }> {
  const { url, apiKey, model } = endpoint;
  const [wire, ...others] = wires;
  if (wire === undefined) throw new SpeechError('missing', 'set STT_STREAMING to a format of the endpoint');
  try {
    const address = `${url.replace(/\/+$/, '')}${wire.path({ model, language })}`;
    return { socket: await openSocket(address, wire.headers(apiKey), signal), wire };
  } catch (error) {
    if (others.length === 0) throw error;
    return openFirst(endpoint, others, language, signal);
  }
}

/** Which format the endpoint has; rejects with what to change where it has none. */
export async function probeLive(endpoint: LiveEndpoint, wires: readonly LiveWire[]): Promise<LiveWire> {
  const { connect } = endpoint.limits ?? standardLimits;
  const { socket, wire } = await openFirst(endpoint, wires, undefined, AbortSignal.timeout(connect));
  socket.close();
  return wire;
}

function asSpeechError(cause: unknown): Error {
  if (cause instanceof SpeechError) return cause;
  if (!(cause instanceof LiveWireError))
    return new SpeechError('unreachable', 'the endpoint does not answer; check STT_URL', { cause });
  const advice = cause.concernsKey ? 'STT_API_KEY' : 'STT_MODEL, STT_LANGUAGE and STT_STREAMING';
  return new SpeechError('refused', `the endpoint says "${cause.message.slice(0, 200)}"; check ${advice}`, {
    cause,
  });
}

/** Node's own WebSocket takes headers, which the type of browsers has not. */
type NodeWebSocket = new (url: string, options: { headers: Record<string, string> }) => WebSocket;

const explainMs = 3000;

/** Opens a WebSocket at an address that begins with http; a failure says what to change. */
async function openSocket(
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<WebSocket> {
  signal.throwIfAborted();
  const Socket = WebSocket as unknown as NodeWebSocket;
  const socket = new Socket(address.replace(/^http/, 'ws'), { headers });
  socket.binaryType = 'arraybuffer';
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const leave = () => {
    socket.close();
    resolve(false);
  };
  socket.addEventListener('open', () => resolve(true), { once: true });
  socket.addEventListener('close', () => resolve(false), { once: true });
  socket.addEventListener('error', () => resolve(false), { once: true });
  signal.addEventListener('abort', leave, { once: true });
  const isOpen = await promise;
  signal.removeEventListener('abort', leave);
  if (isOpen) return socket;
  throw await explain(address, headers, signal);
}

/** A WebSocket does not say why it failed; a plain request to the same place does. */
async function explain(
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<SpeechError> {
  if (signal.aborted)
    return new SpeechError('timeout', 'the endpoint does not open the connection in time; check STT_URL');
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(explainMs)]);
    const response = await fetch(address, { headers, redirect: 'manual', signal: limit });
    await response.body?.cancel();
    const { status } = response;
    const advice = status === 401 || status === 403 ? 'STT_API_KEY' : 'STT_URL, STT_MODEL and STT_STREAMING';
    return new SpeechError('refused', `the endpoint refused the connection (${status}); check ${advice}`);
  } catch (cause) {
    return new SpeechError('unreachable', 'the endpoint does not answer; check STT_URL', { cause });
  }
}
