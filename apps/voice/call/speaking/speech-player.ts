import type { Clock } from '@trunkline/schedule';
import type { AudioFrame } from '../../speech/audio/frame.ts';
import { Alarm } from '../clock.ts';
import type { Speaker } from '../line.ts';
import { type Utterance, UtterancePlayout, type Voice } from './utterance.ts';

export interface SpeechPlayerDeps {
  speaker: Speaker;
  voice: Voice;
  clock: Clock;
  /** How long a voice may take for the next sound. */
  timeoutMs: number;
  /** The first sound after quiet was sent. */
  started(): void;
  /** There is nothing more to say. */
  stopped(): void;
  /** The next words are being heard. */
  caption(words: string): void;
  /** Sound was handed to the line, to be sent in so many milliseconds. */
  queued(inMs: number, frame: AudioFrame): void;
  /** What was handed to the line is not sent now. */
  silenced(): void;
  /** Something could not be said. */
  failed(error: unknown): void;
}

const tickMs = 50;
/** So much is handed to the line ahead of its time. */
const leadMs = 1000;
/** With more than this made and waiting, the next piece is not begun. */
const aheadMs = 6000;
/** A speaker that does not move for this long is stuck. */
const stuckMs = 5000;
/** What was said this recently may still come back as an echo. */
const echoMs = 4000;

/** Says one thing after the other: the sound of the next is made while one is played. */
export class SpeechPlayer {
  readonly #deps: SpeechPlayerDeps;
  readonly #tick: Alarm;
  /** Pieces whose sound is not all queued, then those whose sound is being played. */
  #waiting: UtterancePlayout[] = [];
  #playing: UtterancePlayout[] = [];
  #spoken: { text: string; at: number }[] = [];
  #speaking = false;
  #held = false;
  #movedAt = 0;
  #lastPlayedMs = 0;
  #pumping = false;
  #closed = false;

  constructor(deps: SpeechPlayerDeps) {
    this.#deps = deps;
    this.#tick = new Alarm(deps.clock);
    deps.speaker.onStarted(() => this.#started());
    deps.speaker.onDrained(() => this.#look());
  }

  /** Nothing is said and nothing waits. */
  get idle(): boolean {
    return this.#waiting.length === 0 && this.#playing.length === 0;
  }

  /** Sound is going out, or was and is held. */
  get speaking(): boolean {
    return this.#speaking;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Makes the sound of something that may be said later. */
  prepare(saying: Utterance): UtterancePlayout {
    const piece = new UtterancePlayout(saying);
    piece.make(this.#deps.voice);
    return piece;
  }

  say(saying: Utterance | UtterancePlayout): void {
    this.#add(saying, this.#waiting.length);
  }

  /** Before whatever waits, after what is being said. */
  sayNext(saying: Utterance): void {
    this.#add(saying, this.#waiting[0]?.startMs === undefined ? 0 : 1);
  }

  hold(): void {
    this.#held = true;
    this.#deps.speaker.hold();
    this.#deps.silenced();
  }

  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#movedAt = this.#deps.clock.now();
    this.#deps.speaker.resume();
    this.#pump();
  }

  /** Stops at once and gives up everything; each piece is told how much of it was sent. */
  cut(): void {
    this.#look();
    const { speaker } = this.#deps;
    const playedMs = speaker.playedMs;
    const pieces = [...this.#playing, ...this.#waiting];
    [this.#playing, this.#waiting] = [[], []];
    speaker.clear();
    this.#deps.silenced();
    if (this.#held) speaker.resume();
    this.#held = false;
    for (const piece of pieces) this.#giveUp(piece, playedMs);
    this.#rest();
  }

  close(): void {
    this.#closed = true;
    this.cut();
    this.#tick.cancel();
  }

  /** The words that may be in the air now. */
  recentText(): string {
    const { clock, speaker } = this.#deps;
    const recent = this.#spoken.filter(({ at }) => clock.now() - at < echoMs).map(({ text }) => text);
    const now = [...this.#playing, ...this.#waiting].filter(
      ({ startMs = Infinity }) => startMs <= speaker.playedMs + 100,
    );
    return [...recent, ...now.map(({ saying }) => saying.text)].join(' ');
  }

  #add(saying: Utterance | UtterancePlayout, index: number): void {
    if (this.#closed) return;
    const piece = saying instanceof UtterancePlayout ? saying : new UtterancePlayout(saying);
    piece.onChange(() => this.#pump());
    if (this.idle) this.#movedAt = this.#deps.clock.now();
    this.#waiting.splice(index, 0, piece);
    this.#pump();
    this.#schedule();
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    for (let piece = this.#waiting[0]; piece !== undefined && this.#hasRoom; piece = this.#waiting[0]) {
      piece.make(this.#deps.voice);
      const frame = piece.take();
      if (frame !== undefined) this.#enqueue(piece, frame);
      else if (piece.isMade) this.#finishMaking(piece);
      else break;
    }
    this.#makeNext();
    this.#pumping = false;
  }

  get #hasRoom(): boolean {
    return this.#deps.speaker.queuedMs < leadMs;
  }

  #finishMaking(piece: UtterancePlayout): void {
    this.#waiting.shift();
    this.#playing.push(piece);
    if (piece.failure !== undefined) this.#deps.failed(piece.failure);
  }

  /** One after the other, and not too far ahead of what is heard. */
  #makeNext(): void {
    let madeMs = this.#deps.speaker.queuedMs;
    for (const piece of this.#waiting) {
      if (madeMs < aheadMs) piece.make(this.#deps.voice);
      if (!piece.isMade) return;
      madeMs += piece.waitingMs;
    }
  }

  #enqueue(piece: UtterancePlayout, frame: AudioFrame): void {
    const { speaker, clock } = this.#deps;
    piece.startMs ??= speaker.playedMs + speaker.queuedMs;
    this.#deps.queued(speaker.queuedMs, frame);
    this.#movedAt = clock.now();
    speaker.enqueue(frame);
  }

  #started(): void {
    this.#movedAt = this.#deps.clock.now();
    if (!this.#speaking) {
      this.#speaking = true;
      this.#deps.started();
    }
    this.#look();
  }

  #schedule(): void {
    if (this.#tick.isSet || this.idle) return;
    this.#tick.set(tickMs, () => {
      this.#look();
      this.#watch();
      this.#pump();
      this.#schedule();
    });
  }

  /** Shows the words that have come up, and lets go of what is over. */
  #look(): void {
    const { playedMs, queuedMs } = this.#deps.speaker;
    for (const piece of [...this.#playing, ...this.#waiting]) this.#show(piece, piece.shareAt(playedMs));
    // A line that has to change the rate sends a moment less than it was given.
    const over = this.#playing.filter((piece) => queuedMs === 0 || piece.isOver(playedMs));
    this.#playing = this.#playing.filter((piece) => !over.includes(piece));
    for (const piece of over) this.#end(piece);
    if (this.idle) this.#rest();
  }

  #end(piece: UtterancePlayout): void {
    this.#show(piece, 1);
    this.#remember(piece.saying.text);
    if (piece.startMs === undefined && piece.failure !== undefined) piece.saying.failed?.();
    else piece.saying.heard?.();
  }

  #giveUp(piece: UtterancePlayout, playedMs: number): void {
    const share = piece.shareAt(playedMs);
    if (share > 0) this.#remember(piece.saying.text);
    piece.cancel();
    piece.saying.cut?.(share);
  }

  #remember(text: string): void {
    this.#spoken = [...this.#spoken, { text, at: this.#deps.clock.now() }].slice(-8);
  }

  #show(piece: UtterancePlayout, share: number): void {
    if (piece.startMs === undefined && share < 1) return;
    const words = piece.saying.text.split(/\s+/);
    // A word is shown when it begins, not when it is over.
    const begun = share === 0 ? 0 : Math.min(words.length, Math.floor(share * words.length) + 1);
    if (begun <= piece.shown || piece.startMs === undefined) return;
    if (!piece.begun) piece.saying.begun?.();
    piece.begun = true;
    this.#deps.caption(words.slice(piece.shown, begun).join(' '));
    piece.shown = begun;
  }

  /** Nothing may hang: a voice that gives nothing is given up, a stuck speaker is emptied. */
  #watch(): void {
    const { speaker, clock, timeoutMs } = this.#deps;
    if (speaker.playedMs !== this.#lastPlayedMs || this.#held) this.#movedAt = clock.now();
    this.#lastPlayedMs = speaker.playedMs;
    const stillMs = clock.now() - this.#movedAt;
    if (speaker.queuedMs > 0 && stillMs > stuckMs) {
      this.#deps.failed(new Error('the line takes no sound'));
      this.cut();
    } else if (speaker.queuedMs === 0 && stillMs > timeoutMs && this.#waiting[0]?.isMaking) {
      this.#waiting[0].giveUp(new Error(`the voice gave no sound within ${timeoutMs / 1000} s`));
    }
  }

  #rest(): void {
    this.#tick.cancel();
    if (!this.#speaking) return;
    this.#speaking = false;
    this.#deps.stopped();
  }
}
