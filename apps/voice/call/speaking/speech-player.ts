import type { Clock } from '@trunkline/schedule';
import type { AudioFrame } from '../../speech/audio/samples.ts';
import { Alarm } from '../clock.ts';
import type { Speaker } from '../line.ts';
import type { ReplyOpenings } from './speech-cache.ts';
import { isQuestion } from './speech-text.ts';
import { type Utterance, UtterancePlayout, type Voice } from './utterance.ts';

export interface SpeechPlayerDeps {
  speaker: Speaker;
  voice: Voice;
  openings?: ReplyOpenings;
  clock: Clock;
  /** How long a voice may take for the next sound. */
  timeoutMs: number;
  /** Something that takes the turn was queued. */
  onQueued(): void;
  /** The first sound after silence was sent. */
  onStarted(): void;
  /** The last sound was sent. */
  onStopped(): void;
  /** Nothing is queued or played; may be called more than once. */
  onIdle(): void;
  /** The next words are being heard. */
  onCaption(words: string): void;
  /** Sound was handed to the line, to be sent in so many milliseconds. */
  onAudio(inMs: number, frame: AudioFrame): void;
  /** The line drops what it was handed. */
  onSilenced(): void;
  /** The line holds what it was handed, until it is resumed. */
  onPaused(): void;
  onResumed(): void;
  onError(error: unknown): void;
}

const tickMs = 50;
/** Sound is handed to the line this far ahead of its time. */
const leadMs = 1000;
/** With more than this synthesized and waiting, synthesis of the next utterance does not start. */
const aheadMs = 6000;
/** A speaker that plays nothing for this long is stuck. */
const stuckMs = 5000;
/** What was said this recently may still return as an echo. */
const echoMs = 4000;
/** A question may be answered for this long while the bot goes on. */
const answerMs = 4000;
/** Who speaks this soon before the end answers all of it. */
const endingMs = 600;

/** Plays one utterance after the other, and synthesizes the next while one is played. */
export class SpeechPlayer {
  readonly #deps: SpeechPlayerDeps;
  readonly #tick: Alarm;
  /** Utterances whose sound is not all handed to the line. */
  #waiting: UtterancePlayout[] = [];
  /** Utterances that the line has whole and still plays. */
  #playing: UtterancePlayout[] = [];
  #spoken: { text: string; at: number }[] = [];
  #speaking = false;
  #startedAt = -Infinity;
  #movedAt = 0;
  #lastPlayedMs = 0;
  #pumping = false;
  #closed = false;

  constructor(deps: SpeechPlayerDeps) {
    this.#deps = deps;
    this.#tick = new Alarm(deps.clock);
    deps.speaker.onStarted(() => this.#started());
    deps.speaker.onDrained(() => this.#update());
  }

  /** Nothing is played and nothing waits. */
  get idle(): boolean {
    return this.#waiting.length === 0 && this.#playing.length === 0;
  }

  /** Sound goes out, or did and is paused. */
  get speaking(): boolean {
    return this.#speaking;
  }

  get paused(): boolean {
    return this.#deps.speaker.paused;
  }

  /** A question is being heard, or was a moment ago since the bot began to speak. */
  get asks(): boolean {
    const { clock, speaker } = this.#deps;
    const isRecent = ({ at }: { at: number }) => at >= this.#startedAt && clock.now() - at < answerMs;
    const heard = [...this.#playing, ...this.#waiting].filter(
      ({ startMs = Infinity }) => startMs <= speaker.playedMs,
    );
    const texts = [...this.#spoken.filter(isRecent), ...heard.map(({ utterance }) => utterance)];
    return this.#speaking && texts.some(({ text }) => isQuestion(text));
  }

  /** Little is left to be heard, and nothing waits. */
  get isEnding(): boolean {
    return this.#speaking && this.#waiting.length === 0 && this.#deps.speaker.queuedMs < endingMs;
  }

  /** Whether the sound of these first words of a reply is there. */
  isReady(opening: string): boolean {
    return this.#deps.openings?.isReady(opening) ?? false;
  }

  /** Synthesizes something that may be said later. */
  prepare(utterance: Utterance): UtterancePlayout {
    const playout = new UtterancePlayout(utterance);
    playout.synthesize(this.#deps.voice);
    return playout;
  }

  say(utterance: Utterance | UtterancePlayout): void {
    this.#add(utterance, this.#waiting.length);
  }

  /** Before whatever waits, after what is being said. */
  sayNext(utterance: Utterance): void {
    this.#add(utterance, this.#waiting[0]?.startMs === undefined ? 0 : 1);
  }

  /** Lowers the level while the caller speaks over the bot. */
  duck(isDucked: boolean): void {
    this.#deps.speaker.duck(isDucked);
  }

  pause(): void {
    if (this.#deps.speaker.paused) return;
    this.#deps.speaker.pause();
    this.#deps.onPaused();
  }

  /** Goes on where it was, at full level. */
  resume(): void {
    const { speaker, clock, onResumed } = this.#deps;
    if (!speaker.paused) return;
    this.#movedAt = clock.now();
    this.duck(false);
    // The page hears it before the sound comes.
    onResumed();
    speaker.resume();
    this.#pump();
  }

  /** Stops at once and drops everything; each utterance learns how much of it was sent. */
  interrupt(): void {
    this.#update();
    const { speaker } = this.#deps;
    const sent = this.#sent();
    [this.#playing, this.#waiting] = [[], []];
    speaker.clear();
    this.#deps.onSilenced();
    if (speaker.paused) speaker.resume();
    for (const { playout, share } of sent) this.#drop(playout, share);
    this.#rest();
  }

  close(): void {
    this.#closed = true;
    this.interrupt();
    this.#tick.cancel();
  }

  /** The words that the microphone may pick up now. */
  recentText(): string {
    const { clock, speaker } = this.#deps;
    const recent = this.#spoken.filter(({ at }) => clock.now() - at < echoMs).map(({ text }) => text);
    const now = [...this.#playing, ...this.#waiting].filter(
      ({ startMs = Infinity }) => startMs <= speaker.playedMs + 100,
    );
    return [...recent, ...now.map(({ utterance }) => utterance.text)].join(' ');
  }

  #add(utterance: Utterance | UtterancePlayout, index: number): void {
    if (this.#closed) return;
    const playout = utterance instanceof UtterancePlayout ? utterance : new UtterancePlayout(utterance);
    const { text, opening, backchannel } = playout.utterance;
    if (opening) this.#deps.openings?.note(text);
    if (!backchannel) this.#deps.onQueued();
    playout.onChange(() => this.#pump());
    if (this.idle) this.#movedAt = this.#deps.clock.now();
    this.#waiting.splice(index, 0, playout);
    this.#pump();
    this.#schedule();
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    for (let playout = this.#waiting[0]; playout !== undefined && this.#hasRoom; playout = this.#waiting[0]) {
      playout.synthesize(this.#deps.voice);
      const frame = playout.take();
      if (frame !== undefined) this.#enqueue(playout, frame);
      else if (playout.isSynthesized) this.#finishSynthesis(playout);
      else break;
    }
    this.#synthesizeAhead();
    this.#pumping = false;
  }

  get #hasRoom(): boolean {
    return this.#deps.speaker.queuedMs < leadMs;
  }

  #finishSynthesis(playout: UtterancePlayout): void {
    this.#waiting.shift();
    this.#playing.push(playout);
    if (playout.failure !== undefined) this.#deps.onError(playout.failure);
  }

  /** One utterance after the other, and not too far ahead of what is heard. */
  #synthesizeAhead(): void {
    let readyMs = this.#deps.speaker.queuedMs;
    for (const playout of this.#waiting) {
      if (readyMs < aheadMs) playout.synthesize(this.#deps.voice);
      if (!playout.isSynthesized) return;
      readyMs += playout.waitingMs;
    }
  }

  #enqueue(playout: UtterancePlayout, frame: AudioFrame): void {
    const { speaker, clock } = this.#deps;
    playout.startMs ??= speaker.playedMs + speaker.queuedMs;
    this.#deps.onAudio(speaker.queuedMs, frame);
    this.#movedAt = clock.now();
    speaker.enqueue(frame);
  }

  #started(): void {
    this.#movedAt = this.#deps.clock.now();
    if (!this.#speaking) {
      this.#speaking = true;
      this.#startedAt = this.#deps.clock.now();
      this.#deps.onStarted();
    }
    this.#update();
  }

  #schedule(): void {
    if (this.#tick.isSet || this.idle) return;
    this.#tick.set(tickMs, () => {
      this.#update();
      this.#watch();
      this.#pump();
      this.#schedule();
    });
  }

  /** Captions the words that are heard by now, and ends what is over. */
  #update(): void {
    const { playedMs, queuedMs } = this.#deps.speaker;
    const sent = this.#sent();
    for (const { playout, share } of sent) this.#caption(playout, share);
    const whole = new Set(sent.flatMap(({ playout, share }) => (share === 1 ? [playout] : [])));
    // A line that changes the sample rate sends a moment less than it was given.
    const over = this.#playing.filter(
      (playout) => queuedMs === 0 || whole.has(playout) || playout.isOver(playedMs),
    );
    this.#playing = this.#playing.filter((playout) => !over.includes(playout));
    for (const playout of over) this.#end(playout);
    if (this.idle) this.#rest();
  }

  /**
   * The share of each utterance that was sent. One is over when a later one has begun, also where the line's count says
   * less: it loses a moment where it changes the sample rate, and words must not be captioned out of order.
   */
  #sent(): { playout: UtterancePlayout; share: number }[] {
    const { playedMs } = this.#deps.speaker;
    const playouts = [...this.#playing, ...this.#waiting];
    const shares = playouts.map((playout) => playout.shareAt(playedMs));
    const last = shares.findLastIndex((share) => share > 0);
    const isOver = ({ startMs }: UtterancePlayout, index: number) => startMs !== undefined && index < last;
    return playouts.map((playout, index) => ({
      playout,
      share: isOver(playout, index) ? 1 : (shares[index] ?? 0),
    }));
  }

  #end(playout: UtterancePlayout): void {
    this.#caption(playout, 1);
    this.#remember(playout.utterance.text);
    if (playout.startMs === undefined && playout.failure !== undefined) playout.utterance.onFailed?.();
    else playout.utterance.onPlayed?.();
  }

  #drop(playout: UtterancePlayout, share: number): void {
    if (share > 0) this.#remember(playout.utterance.text);
    playout.cancel();
    playout.utterance.onInterrupted?.(share);
  }

  #remember(text: string): void {
    this.#spoken = [...this.#spoken, { text, at: this.#deps.clock.now() }].slice(-8);
  }

  #caption(playout: UtterancePlayout, share: number): void {
    if (playout.startMs === undefined && share < 1) return;
    const words = playout.utterance.text.split(/\s+/);
    // A word is captioned when it begins, not when it is over.
    const heard = share === 0 ? 0 : Math.min(words.length, Math.floor(share * words.length) + 1);
    if (heard <= playout.captioned || playout.startMs === undefined) return;
    if (!playout.started) playout.utterance.onStarted?.();
    playout.started = true;
    this.#deps.onCaption(words.slice(playout.captioned, heard).join(' '));
    playout.captioned = heard;
  }

  /** Nothing may hang: a silent voice is stopped, a stuck speaker is emptied. */
  #watch(): void {
    const { speaker, clock, timeoutMs } = this.#deps;
    if (speaker.playedMs !== this.#lastPlayedMs || speaker.paused) this.#movedAt = clock.now();
    this.#lastPlayedMs = speaker.playedMs;
    const stillMs = clock.now() - this.#movedAt;
    if (speaker.queuedMs > 0 && stillMs > stuckMs) {
      this.#deps.onError(new Error('the line takes no sound'));
      this.interrupt();
    } else if (speaker.queuedMs === 0 && stillMs > timeoutMs && this.#waiting[0]?.isSynthesizing) {
      this.#waiting[0].stopSynthesis(new Error(`the voice gave no sound within ${timeoutMs / 1000} s`));
    }
  }

  #rest(): void {
    this.#tick.cancel();
    if (this.#speaking) {
      this.#speaking = false;
      this.#deps.onStopped();
    }
    this.#deps.onIdle();
  }
}
