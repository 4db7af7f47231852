import type { Logger } from '@trunkline/config';
import { ACCESS_CHECK_MS } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Clock, Timer } from '@trunkline/schedule';
import { Mutex } from '@trunkline/std';
import type { Line, LineMessage } from '../call/line.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { User } from '../users/user.ts';
import { DataLink } from './data-link.ts';
import { mediaErrors } from './media-errors.ts';
import type { Pacer } from './paced-speaker.ts';
import { PacedSpeaker } from './paced-speaker.ts';
import {
  type Candidate,
  type Channel,
  candidatesIn,
  mostCandidates,
  type Peer,
  type PeerEvents,
} from './peer.ts';

/** Time to connect after the offer. */
const connectLimitMs = 30_000;
/** For messages that wait at the end of a call until the channel is open: on a slow network that takes seconds. */
const openingMs = 10_000;
/** For last words that are on their way. A client that has them hangs up by itself. */
const lastWordsMs = 3000;
/** Offers and candidates of one call that may wait for those before. */
const mostChanges = 100;
const tooManyChanges = `${mostChanges} changes of this call wait already`;
const tooManyCandidates = `a connection takes ${mostCandidates}`;
const accessLost =
  'This call has ended, because your account, key or session is no longer valid here. Sign in again, or ask the operator.';

export interface PeerLineOptions {
  id: string;
  user: User;
  principal: Principal;
  /** Whether the caller would still be let in; the call ends when not. */
  stillStands(): boolean;
  requestData: unknown;
  /** By which the caller's page names its line. */
  ticket: string | undefined;
  makePeer(events: PeerEvents): Peer;
  pacer: Pacer;
  /** For time limits. */
  clock: Clock;
  /** For packets and sound, which a test cannot delay. */
  mediaClock: Clock;
  logger: Logger;
  onConnected(line: PeerLine): void;
  /** Nothing of the line is left. */
  onReleased(line: PeerLine): void;
  onLate(frames: number): void;
}

/** A caller's line over WebRTC. The line stays when its connection is replaced. */
export class PeerLine implements Line {
  readonly id: string;
  readonly user: User;
  readonly principal: Principal;
  stillStands: () => boolean;
  readonly requestData: unknown;
  readonly ticket: string | undefined;
  /** The connection ended without a goodbye; the caller may come back. */
  isBroken = false;
  readonly speaker: PacedSpeaker;
  readonly #options: PeerLineOptions;
  readonly #link: DataLink;
  readonly #watchdog: LivenessWatchdog;
  readonly #audio: ((frame: AudioFrame) => void)[] = [];
  readonly #messages: ((message: LineMessage) => void)[] = [];
  readonly #closing: ((reason: string) => void)[] = [];
  readonly #signalling = new Mutex();
  /** Of the client, since it has these ICE credentials. */
  readonly #candidates = new Set<string>();
  #ufrag: string | undefined;
  #peer: Peer;
  #connecting: Timer;
  #checking: Timer;
  #stopPacing: (() => void) | undefined;
  #connected = false;
  #closed = false;
  /** Of a closed line whose last words are not delivered yet. */
  #parting: Timer | undefined;

  constructor(options: PeerLineOptions) {
    const { id, user, principal, requestData, ticket, clock, logger } = options;
    this.#options = options;
    this.id = id;
    this.user = user;
    this.principal = principal;
    this.stillStands = options.stillStands;
    this.requestData = requestData;
    this.ticket = ticket;
    this.speaker = new PacedSpeaker({
      send: (frame) => this.#peer.play(frame),
      now: () => performance.now(),
      leadMs: () => options.pacer.leadMs,
      onLate: options.onLate,
      onOverflow: () => logger.warn({}, 'speech queue is full; audio dropped'),
    });
    this.#link = new DataLink({
      clock,
      logger,
      onMessage: (message) => this.#hear(message),
      onGone: (reason) => this.#break(reason),
    });
    this.#watchdog = this.#createWatchdog();
    this.#connecting = this.#limitConnecting();
    this.#checking = this.#checkAccess();
    this.#peer = this.#makePeer();
  }

  onAudio(listener: (frame: AudioFrame) => void): void {
    this.#audio.push(listener);
  }

  onMessage(listener: (message: LineMessage) => void): void {
    this.#messages.push(listener);
  }

  onClose(listener: (reason: string) => void): void {
    this.#closing.push(listener);
  }

  send(message: LineMessage): void {
    if (!this.#closed) this.#link.send(message);
  }

  /** Answers an offer, with `restart` over a new connection. Offers and candidates are handled one after the other. */
  async answer(sdp: string, restart = false): Promise<string> {
    if (this.#signalling.waiting >= mostChanges) throw mediaErrors.bad_offer({ reason: tooManyChanges });
    const ufrag = /^a=ice-ufrag:(\S+)/m.exec(sdp)?.[1];
    if (restart || ufrag !== this.#ufrag) this.#candidates.clear();
    this.#ufrag = ufrag;
    if (this.#isCrowdedBy(candidatesIn(sdp))) throw mediaErrors.bad_offer({ reason: tooManyCandidates });
    return await this.#signalling.run(() => (restart ? this.#restart(sdp) : this.#peer.answer(sdp)));
  }

  async addCandidates(candidates: readonly Candidate[]): Promise<void> {
    if (this.#signalling.waiting >= mostChanges) throw mediaErrors.bad_candidate({ reason: tooManyChanges });
    if (this.#isCrowdedBy(candidates.map(({ candidate }) => candidate)))
      throw mediaErrors.bad_candidate({ reason: tooManyCandidates });
    await this.#signalling.run(async () => {
      for (const candidate of candidates) await this.#peer.addCandidate(candidate);
    });
  }

  /** The process of all calls checks each candidate against each of its own, again and again. */
  #isCrowdedBy(candidates: readonly string[]): boolean {
    for (const candidate of candidates) this.#candidates.add(candidate);
    return this.#candidates.size > mostCandidates;
  }

  close(reason: string, lastWords?: LineMessage): void {
    if (this.#closed) return;
    if (lastWords !== undefined) this.send(lastWords);
    this.#closed = true;
    this.#connecting.cancel();
    this.#checking.cancel();
    this.#watchdog.stop();
    this.#stopPacing?.();
    this.speaker.clear();
    this.#part(lastWords !== undefined);
    this.#options.logger.info({ call: this.id, user: this.user.id, reason }, 'call ended');
    for (const listener of this.#closing) this.#safely(() => listener(reason));
  }

  #break(reason: string): void {
    if (this.#closed) {
      if (this.#parting !== undefined) this.#release();
      return;
    }
    this.isBroken = this.#connected;
    this.close(reason);
  }

  /** Last words, and messages that wait for the channel to open, get time to be sent. */
  #part(hasLastWords: boolean): void {
    const { hasWaiting } = this.#link;
    if (!hasWaiting && !hasLastWords) {
      this.#release();
      return;
    }
    this.#parting?.cancel();
    const limitMs = hasWaiting ? openingMs : lastWordsMs;
    this.#parting = this.#options.mediaClock.setTimer(limitMs, () => this.#release());
  }

  #release(): void {
    this.#parting?.cancel();
    this.#parting = undefined;
    this.#link.stop();
    this.#peer.close();
    this.#options.onReleased(this);
  }

  /** Ends at once, whatever is still to be sent. */
  end(reason: string): void {
    this.close(reason);
    if (this.#parting !== undefined) this.#release();
  }

  #makePeer(): Peer {
    const { makePeer } = this.#options;
    return makePeer({
      stateChanged: () => this.#safely(() => this.#noticeState()),
      audio: (frame) => this.#safely(() => this.#listen(frame)),
      channelOpened: (channel) => this.#safely(() => this.#openChannel(channel)),
      channelClosed: (channel) => {
        if (this.#link.closed(channel)) this.#break('the client hung up');
      },
      message: (_channel, message) => this.#safely(() => this.#read(message)),
    });
  }

  /** An error in one call ends that call, and no other. */
  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.logger.error({ call: this.id, err: error }, 'call failed');
      this.close('something went wrong');
    }
  }

  #limitConnecting(): Timer {
    const giveUp = () => this.close('the client did not connect in time');
    return this.#options.clock.setTimer(connectLimitMs, giveUp);
  }

  #checkAccess(): Timer {
    return this.#options.clock.setTimer(ACCESS_CHECK_MS, () => {
      if (this.stillStands()) {
        this.#checking = this.#checkAccess();
        return;
      }
      this.close('the caller lost access', { type: 'error', data: { message: accessLost, fatal: true } });
    });
  }

  /** The old connection stays until the new one has an answer. */
  async #restart(sdp: string): Promise<string> {
    const fresh = this.#makePeer();
    try {
      const answer = await fresh.answer(sdp);
      this.#peer.close();
      this.#link.forget();
      this.#peer = fresh;
      this.#connecting.cancel();
      this.#connecting = this.#limitConnecting();
      return answer;
    } finally {
      if (this.#peer !== fresh || this.#closed) fresh.close();
    }
  }

  #noticeState(): void {
    const { state } = this.#peer;
    if (state === 'lost') this.#break('the connection was lost');
    if (state === 'connected') this.#begin();
  }

  #openChannel(channel: Channel): void {
    this.#begin();
    this.#link.opened(channel);
    if (this.#parting !== undefined) this.#part(true);
  }

  #read(message: string | ArrayBuffer): void {
    this.#watchdog.keepAlive();
    this.#link.received(message);
  }

  /** Connected; the first connection starts the call. */
  #begin(): void {
    this.#connecting.cancel();
    if (this.#connected || this.#closed) return;
    this.#connected = true;
    this.#link.start();
    this.speaker.open();
    this.#stopPacing = this.#options.pacer.add({
      advance: () => this.#safely(() => this.speaker.advance()),
      rest: () => this.#peer.rest(),
    });
    this.#options.logger.info({ call: this.id, user: this.user.id }, 'call connected');
    this.#options.onConnected(this);
  }

  /** A lost line delivers digital silence. */
  #listen(frame: AudioFrame): void {
    if (this.#closed) return;
    this.#options.pacer.nudge();
    if (frame.samples.some((sample) => sample !== 0)) this.#watchdog.keepAlive();
    for (const listener of this.#audio) listener(frame);
  }

  #hear(message: LineMessage): void {
    if (this.#closed) return;
    for (const listener of this.#messages) listener(message);
    if (message.type === 'disconnect-bot') this.close('the client said goodbye');
  }

  #createWatchdog(): LivenessWatchdog {
    return new LivenessWatchdog({
      clock: this.#options.mediaClock,
      isConnected: () => {
        // The library's event may come before its state changes.
        this.#safely(() => this.#noticeState());
        return this.#peer.state === 'connected';
      },
      packetsReceived: () => this.#peer.packetsReceived(),
      onGone: (reason) => this.#break(reason),
      onError: (error) => this.#break(`the connection statistics failed: ${error}`),
    });
  }
}

const checkEveryMs = 400;
/** This many checks in a row without a packet mean that the line is lost. */
const mostSilentChecks = 4;

interface LivenessWatchdogOptions {
  clock: Clock;
  /** Whether there is a connection that could be lost. */
  isConnected(): boolean;
  packetsReceived(): Promise<number>;
  onGone(reason: string): void;
  onError(error: unknown): void;
}

/**
 * Notices a lost line within about two seconds, long before the library does. Counting packets slows the library down,
 * so it is done only while neither sound nor messages come in.
 */
class LivenessWatchdog {
  readonly #options: LivenessWatchdogOptions;
  #timer: Timer | undefined;
  #alive = false;
  #packets = 0;
  #silentChecks = 0;

  constructor(options: LivenessWatchdogOptions) {
    this.#options = options;
    this.#arm();
  }

  keepAlive(): void {
    this.#alive = true;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#options.clock.setTimer(checkEveryMs, () => {
      this.#check().catch((error: unknown) => this.#options.onError(error));
    });
  }

  async #check(): Promise<void> {
    if (!this.#alive && this.#options.isConnected()) await this.#count();
    else this.#silentChecks = 0;
    this.#alive = false;
    if (this.#timer === undefined) return;
    this.#arm();
    if (this.#silentChecks >= mostSilentChecks) this.#options.onGone('nothing came any more');
  }

  async #count(): Promise<void> {
    const packets = await this.#options.packetsReceived();
    this.#silentChecks = packets === this.#packets ? this.#silentChecks + 1 : 0;
    this.#packets = packets;
  }
}
