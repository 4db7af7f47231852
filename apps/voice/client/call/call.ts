// The caller's side of a call: opens the microphone, connects, reconnects when the line breaks, and notifies the page.
import { BoundedMap } from '@trunkline/std';
import { type Api, randomId } from '@trunkline/ui';
import type { Levels } from '../orb/motion.ts';
import { type Exchange, NO_EXCHANGE, settle, take, typed, withUnsent } from './exchange.ts';
import { BusyNotice, LineWait, type Waiting } from './line-wait.ts';
import { Link, openMessage, sealMessage } from './link.ts';
import { type Problem, problemIn, problemOf } from './problems.ts';
import { type CallSettings, CallSound, closeStream, openMicrophone } from './sound.ts';

const RETRY_MS = [300, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000, 8000];
/** Ends a "thinking" that leads to nothing: noise, or a service that fell silent. */
const THOUGHT_LIMIT_MS = 20_000;
const ROUND_TRIP_EVERY_MS = 2000;
const MOST_TYPED = 50;
const QUIET: Levels = { ear: 0, voice: 0 };

/** The end of the farewell may still be on its way when the service says that the call has ended. */
const FAREWELL_MS = 400;

type Phase = 'idle' | 'microphone' | 'connecting' | 'live' | 'reconnecting';

export interface CallState {
  phase: Phase;
  number: number;
  /** Why there is no call, if the caller did not end it. */
  problem: Problem | undefined;
  /** Without one the caller types. */
  hasMicrophone: boolean;
  muted: boolean;
  pushToTalk: boolean;
  talking: boolean;
  /** Reconnection attempts. */
  attempt: number;
  roundTripMs: number | undefined;
  /** The caller waits for a line. */
  waiting: Waiting | undefined;
  exchange: Exchange;
}

const AT_REST: Omit<CallState, 'pushToTalk'> = {
  phase: 'idle',
  number: 0,
  problem: undefined,
  hasMicrophone: false,
  muted: false,
  talking: false,
  attempt: 0,
  roundTripMs: undefined,
  waiting: undefined,
  exchange: NO_EXCHANGE,
};

export class Call {
  readonly #api: Api;
  readonly #listeners = new Set<() => void>();
  readonly #wait: LineWait;
  readonly #busy = new BusyNotice();
  #settings: CallSettings;
  /** By which the service knows this page when it waits for a line, calls, and comes back to its line. */
  readonly #ticket = randomId();
  #state: CallState;
  #sound: CallSound | undefined;
  #link: Link | undefined;
  #thought: number | undefined;
  #retry: number | undefined;
  #pulse: number | undefined;
  /** Counts calls, so that events of an earlier one are ignored. */
  #round = 0;

  constructor(api: Api, settings: CallSettings) {
    this.#api = api;
    this.#wait = new LineWait(api, this.#ticket, {
      onChange: (waiting) => this.#update({ waiting }),
      onRefused: (problem) => this.#update({ problem }),
    });
    this.#settings = settings;
    this.#state = { ...AT_REST, pushToTalk: settings.pushToTalk };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): CallState => this.#state;

  readonly levels = (): Levels => this.#sound?.levels() ?? QUIET;

  /** Without a microphone the caller types. */
  async start({ microphone = true } = {}): Promise<void> {
    if (this.#state.phase !== 'idle') return;
    this.#round += 1;
    const round = this.#round;
    const waited = this.#wait.take();
    if (microphone) this.#busy.open();
    else this.#busy.stop();
    const { exchange, number } = this.#state;
    const phase = microphone ? 'microphone' : 'connecting';
    this.#update({ ...AT_REST, exchange, number: number + 1, phase });
    try {
      const stream = microphone ? await openMicrophone(this.#settings.microphoneId) : undefined;
      if (round !== this.#round) return closeStream(stream);
      this.#sound = new CallSound(stream);
      await this.#chooseLoudspeaker();
      if (round !== this.#round) return;
      this.#update({ phase: 'connecting', hasMicrophone: stream !== undefined });
      await this.#connect(round);
    } catch (error) {
      if (round !== this.#round) return;
      const problem = problemIn(error);
      this.#giveUp(problem);
      // The place is still there.
      if (waited && problem.code === 'lines-busy') this.#wait.start();
      if (!waited && microphone && problem.code === 'lines-busy')
        void this.#busy.say(`${problem.what} ${problem.todo}`);
      else this.#busy.stop();
    }
  }

  hangUp(): void {
    this.#wait.stop();
    this.#busy.stop();
    this.#leave((link) => link?.hangUp());
  }

  /** The line stays this caller's: it does not hang up. */
  async restart({ microphone = this.#state.hasMicrophone } = {}): Promise<void> {
    this.#leave((link) => link?.close());
    await this.start({ microphone });
  }

  #leave(end: (link: Link | undefined) => void): void {
    if (this.#state.phase === 'idle') return;
    this.#unsent.unshift(...(this.#link?.takeWaiting() ?? []));
    this.#sent = [];
    end(this.#link);
    this.#end();
    this.#update({ phase: 'idle', muted: false, talking: false, roundTripMs: undefined });
    this.#markUnsent();
  }

  /** Waits until a line is free; then the page rings, and `start` answers. */
  waitForLine(): void {
    this.#busy.stop();
    this.#wait.start();
  }

  dismiss(): void {
    this.#wait.stop();
    this.#busy.stop();
    this.#update({ problem: undefined });
  }

  /** Sends what was typed and not sent, once, over a call of its own. */
  retryUnsent(): void {
    for (const message of this.#lost.splice(0)) this.#send(message);
    this.#markUnsent(this.#lost);
    if (this.#state.phase === 'idle') void this.start({ microphone: false });
  }

  mute(muted: boolean): void {
    this.#sound?.mute(muted);
    this.#update({ muted });
  }

  /** Comes back to a call that is on hold. */
  resume(): void {
    this.#link?.send(sealMessage('client-message', { t: 'resume-call' }));
  }

  /** Presses or releases the talk button. */
  talk(down: boolean): void {
    if (!this.#state.pushToTalk || this.#state.talking === down || this.#state.phase !== 'live') return;
    this.#sound?.talk(down);
    this.#update({ talking: down });
  }

  /** Sends a text; starts a call without a microphone if there is none. */
  async sendText(text: string): Promise<void> {
    if (this.#state.phase === 'idle') void this.start({ microphone: false });
    this.#update({ exchange: typed(this.#state.exchange, text, performance.now()) });
    this.#watchThought();
    const message = sealMessage('send-text', {
      content: text,
      options: { run_immediately: true, audio_response: true },
    });
    const caption = this.#state.exchange.entries.at(-1);
    if (caption !== undefined) this.#captions.set(message, caption.id);
    this.#send(message);
  }

  #send(message: string): void {
    if (this.#link === undefined) this.#unsent.push(message);
    else {
      this.#sent = [...this.#sent, message].slice(-MOST_TYPED);
      this.#link.send(message);
    }
  }

  /** Takes effect at once if possible, else at the next call. */
  async apply(settings: CallSettings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    if (settings.pushToTalk !== before.pushToTalk) await this.#changeMode(settings.pushToTalk);
    if (settings.loudspeakerId !== before.loudspeakerId) await this.#chooseLoudspeaker();
    if (settings.microphoneId !== before.microphoneId) await this.#changeMicrophone();
  }

  // Typed before the connection was up.
  #unsent: string[] = [];
  /** Sent, without a sign yet that the service took it. */
  #sent: string[] = [];
  /** Of those, the ones whose line broke: sent again only when the caller says so, as the service may have them. */
  #lost: string[] = [];
  /** The captions of typed messages, by message. */
  readonly #captions = new BoundedMap<string, number>(MOST_TYPED);

  #markUnsent(messages: readonly string[] = [...this.#unsent, ...this.#lost]): void {
    const ids = messages.flatMap((message) => this.#captions.get(message) ?? []);
    this.#update({ exchange: withUnsent(this.#state.exchange, ids) });
  }

  async #connect(round: number): Promise<void> {
    const { iceServers } = await this.#api.request<{ iceServers: RTCIceServer[] }>('/api/ice');
    if (round !== this.#round) return;
    const link = new Link(this.#api, iceServers, {
      onSound: (stream) => this.#sound?.play(stream),
      onMessage: (text) => this.#hear(text),
      onLost: () => round === this.#round && this.#lose(round),
    });
    this.#link = link;
    for (const message of this.#unsent.splice(0)) this.#send(message);
    this.#markUnsent();
    const reconnected = this.#state.phase === 'reconnecting';
    const about = { library: 'trunkline', ...(reconnected && { reconnected }) };
    const greeting = sealMessage('client-ready', { version: '1.0.0', about });
    const track = this.#sound?.track(this.#state.pushToTalk);
    await link.open({ track, greeting, ticket: this.#ticket, language: this.#settings.language });
    if (round === this.#round) this.#live();
  }

  #live(): void {
    this.#busy.stop();
    this.#sound?.mute(this.#state.muted);
    this.#update({ phase: 'live', problem: undefined });
    window.clearInterval(this.#pulse);
    this.#pulse = window.setInterval(() => void this.#measure(), ROUND_TRIP_EVERY_MS);
  }

  // Only a line that has lasted resets the count, so that one that breaks at once is not retried for ever.
  async #measure(): Promise<void> {
    if (this.#state.attempt > 0) this.#update({ attempt: 0 });
    const roundTripMs = await this.#link?.roundTrip();
    if (roundTripMs !== this.#state.roundTripMs) this.#update({ roundTripMs });
  }

  // The microphone stays open while the call reconnects.
  #lose(round: number): void {
    this.#closeLink();
    this.#wait.hasPlace = true;
    window.clearInterval(this.#pulse);
    const attempt = this.#state.attempt + 1;
    const wait = RETRY_MS[attempt - 1];
    if (wait === undefined) {
      this.#giveUp(problemOf('lost'));
      return;
    }
    const { exchange } = this.#state;
    this.#update({ phase: 'reconnecting', attempt, talking: false, exchange: settle(exchange, 'lost') });
    this.#markUnsent(this.#lost);
    this.#retry = window.setTimeout(() => void this.#comeBack(round), wait);
  }

  async #comeBack(round: number): Promise<void> {
    window.clearTimeout(this.#retry);
    // Without a network there is no use in trying: `retryNow` is called when it is back.
    if (round !== this.#round || this.#state.phase !== 'reconnecting' || !navigator.onLine) return;
    // Invalidates an earlier attempt that is still under way.
    this.#round += 1;
    const attempt = this.#round;
    try {
      await this.#connect(attempt);
    } catch (error) {
      if (attempt !== this.#round) return;
      const problem = problemIn(error);
      if (problem.code === 'no-key') this.#giveUp(problem);
      else this.#lose(attempt);
    }
  }

  /** The network is back: no need to wait for the next attempt. */
  retryNow(): void {
    if (this.#state.phase === 'reconnecting' && this.#link === undefined) void this.#comeBack(this.#round);
  }

  /** The network is gone: no need to wait until the connection notices. */
  dropped(): void {
    if (this.#state.phase === 'live') this.#lose(this.#round);
  }

  #hear(text: string): void {
    const message = openMessage(text);
    if (message === undefined) return;
    const { type, data } = message;
    if (type === 'error' && data.fatal === true) {
      this.#busy.stop();
      this.#giveUp(problemOf('service-refused', { why: String(data.message) }));
      return;
    }
    if (type === 'server-message' && data.type === 'call-ended') {
      const round = this.#round;
      window.setTimeout(() => round === this.#round && this.hangUp(), FAREWELL_MS);
      return;
    }
    const playback = type === 'server-message' ? data.type : type;
    if (playback === 'bot-interrupted' || playback === 'speech-paused') this.#sound?.silence();
    if (playback === 'bot-started-speaking' || playback === 'speech-resumed') this.#sound?.unsilence();
    if (type === 'user-transcription') this.#confirm(String(data.text ?? '').trim());
    const exchange = take(this.#state.exchange, message, performance.now());
    if (exchange !== this.#state.exchange) this.#update({ exchange });
    this.#watchThought();
  }

  /** The service repeats a typed text, cut where it is too long, once it has taken it. */
  #confirm(text: string): void {
    if (text === '') return;
    const isTaken = (message: string) => String(openMessage(message)?.data.content).trim().startsWith(text);
    this.#sent = this.#sent.filter((message) => !isTaken(message));
  }

  #watchThought(): void {
    window.clearTimeout(this.#thought);
    if (this.#state.exchange.activity !== 'thinking') return;
    this.#thought = window.setTimeout(() => {
      const { exchange } = this.#state;
      if (exchange.activity === 'thinking') this.#update({ exchange: settle(exchange, 'whole') });
    }, THOUGHT_LIMIT_MS);
  }

  async #changeMode(pushToTalk: boolean): Promise<void> {
    this.#sound?.talk(false);
    this.#update({ pushToTalk, talking: false });
    await this.#link?.replaceTrack(this.#sound?.track(pushToTalk));
  }

  // Another microphone needs a new sound graph.
  async #changeMicrophone(): Promise<void> {
    if (this.#state.phase === 'live' && this.#state.hasMicrophone) await this.restart();
  }

  async #chooseLoudspeaker(): Promise<void> {
    const { loudspeakerId } = this.#settings;
    if (loudspeakerId === undefined) return;
    // If it was unplugged, the browser's default is used.
    await this.#sound?.playOn(loudspeakerId).catch(() => this.#sound?.playOn(''));
  }

  // Unsent messages wait for the next connection.
  #closeLink(): void {
    const waiting = this.#link?.takeWaiting() ?? [];
    this.#unsent.unshift(...waiting);
    this.#lost.push(...this.#sent.filter((message) => !waiting.includes(message)));
    this.#sent = [];
    this.#link?.close();
    this.#link = undefined;
  }

  #giveUp(problem: Problem): void {
    this.#closeLink();
    this.#end();
    this.#update({ phase: 'idle', problem, talking: false, muted: false, roundTripMs: undefined });
    this.#markUnsent();
  }

  #end(): void {
    this.#round += 1;
    this.#link = undefined;
    window.clearInterval(this.#pulse);
    window.clearTimeout(this.#retry);
    window.clearTimeout(this.#thought);
    void this.#sound?.close();
    this.#sound = undefined;
    this.#state = { ...this.#state, exchange: settle(this.#state.exchange, 'lost') };
  }

  #update(change: Partial<CallState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
