import type { Clock } from '@trunkline/schedule';
import { Alarm } from '../clock.ts';
import type { SpeechInput } from '../listening/speech-input.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import type { TurnController } from '../turn-controller.ts';
import type { DecisionLog } from './decisions.ts';
import type { EchoFilter } from './echo-filter.ts';
import { surelyVoice } from './interruption.ts';

interface DuckingDeps {
  input: SpeechInput;
  player: SpeechPlayer;
  echo: EchoFilter;
  turns: TurnController;
  clock: Clock;
  decisions: DecisionLog;
  /** False where the skill allows no interruptions. */
  mayInterrupt: boolean;
}

/** Four windows in a row, about 130 ms, whose mean is surely a voice. */
const sureWindows = 4;
const voicedAbove = 0.6;
/** After so much without a voice, nobody speaks. */
const confirmMs = 250;
/** A first word may have holes, but by then it is known whether it was one. */
const longestConfirmMs = 600;
/** After a sound that was nothing, the next one is confirmed before the bot is silent: a row of them must not chop its speech. */
const cautionMs = 5000;

/**
 * Lowers the bot's voice while the caller speaks over it, and silences it as soon as that is surely a voice: 60 ms before
 * speech is certain. From then on the silence is the turn controller's pause, which it limits.
 */
export class Ducking {
  readonly #deps: DuckingDeps;
  readonly #confirmation: Alarm;
  #recent: number[] = [];
  #cautiousUntil = -Infinity;
  #confirmUntil = -Infinity;

  constructor(deps: DuckingDeps) {
    this.#deps = deps;
    this.#confirmation = new Alarm(deps.clock);
  }

  /** A window of sound has passed, which holds a voice with that probability. */
  onWindow(probability: number): void {
    const { input, player, turns, clock } = this.#deps;
    this.#recent = [...this.#recent, probability].slice(-sureWindows);
    const isOverlapped = this.#isOverlapped;
    player.duck(isOverlapped);
    if (input.active) this.#confirmation.cancel();
    else if (this.#confirmation.isSet) this.#waitOn(probability);
    else if (isOverlapped && this.#isSure && !turns.isFloorHeld && clock.now() >= this.#cautiousUntil)
      this.#silence();
  }

  close(): void {
    this.#confirmation.cancel();
  }

  #silence(): void {
    const { player, clock, decisions } = this.#deps;
    decisions.note('pause', 'surely a voice, before speech is certain');
    player.pause();
    this.#confirmUntil = clock.now() + longestConfirmMs;
    this.#waitOn(1);
  }

  /** A window with a voice makes the wait for certain speech longer. */
  #waitOn(probability: number): void {
    const { player, clock, decisions } = this.#deps;
    if (probability < voicedAbove) return;
    this.#confirmation.set(Math.min(confirmMs, this.#confirmUntil - clock.now()), () => {
      this.#cautiousUntil = clock.now() + cautionMs;
      decisions.note('resume', `no speech, nor a voice for ${confirmMs} ms`);
      // The next short sound is another one.
      decisions.renew();
      player.resume();
    });
  }

  /** The caller speaks over the bot, and it is not known yet that this means nothing. */
  get #isOverlapped(): boolean {
    const { input, player, echo, turns, mayInterrupt } = this.#deps;
    if (!player.speaking || !input.likelySpeech || !mayInterrupt) return false;
    if (turns.isFalseInterruption || turns.judge.isFar) return false;
    return echo.isSelfSpeech === false;
  }

  get #isSure(): boolean {
    const sum = this.#recent.reduce((total, probability) => total + probability, 0);
    const isVoiced = this.#recent.every((probability) => probability >= voicedAbove);
    return isVoiced && sum / sureWindows >= surelyVoice;
  }
}
