import type { Clock } from '@trunkline/schedule';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { removeSelfSpeech } from './echo.ts';
import type { EchoMatcher } from './echo-matcher.ts';
import { wordsIn } from './words.ts';

export interface EchoFilterDeps {
  player: SpeechPlayer;
  echo: EchoMatcher;
  clock: Clock;
  /** How long an echo may come after the voice has stopped. */
  guardMs: number;
}

/** Sound that ends this soon after our voice was only its echo. */
const tailMs = 600;

/** Tells the caller's own words from ours that come back through the microphone. */
export class EchoFilter {
  readonly #deps: EchoFilterDeps;
  /** Our words that may be in what is heard now. */
  #echo = '';
  #stoppedAt = -Infinity;

  constructor(deps: EchoFilterDeps) {
    this.#deps = deps;
  }

  /** Somebody begins to speak, or it seems so. */
  speechStarted(): void {
    const { player, clock, guardMs } = this.#deps;
    if (player.speaking || clock.now() - this.#stoppedAt < guardMs) this.#echo = player.recentText();
  }

  /** Our voice has stopped; `heard`: while something was heard. */
  voiceStopped(heard: boolean): void {
    const { player, clock } = this.#deps;
    this.#stoppedAt = clock.now();
    if (heard) this.#echo = player.recentText();
  }

  /** The caller has the floor: what is heard from now on is theirs. */
  interrupted(): void {
    this.#echo = this.#deps.player.recentText();
    this.#deps.echo.reset();
  }

  /** The next utterance begins. */
  reset(): void {
    this.#echo = '';
    this.#deps.echo.reset();
  }

  /** What the caller has said themselves; one word alone counts as an echo only while we speak. */
  in(text: string): string {
    const { player } = this.#deps;
    if (player.speaking) return removeSelfSpeech(text, player.recentText());
    return this.#echo === '' || wordsIn(text).length < 2 ? text : removeSelfSpeech(text, this.#echo);
  }

  /** What is heard now sounds like our own voice; undefined while it cannot be told. */
  get isEcho(): boolean | undefined {
    const { player, echo } = this.#deps;
    if (!player.speaking) return false;
    return echo.isUnsure ? undefined : echo.isEcho;
  }

  /** Nothing but our own voice was heard, and it ended when we did. */
  isTail(fellSilentAt: number): boolean {
    return this.#deps.echo.wasEcho && fellSilentAt - this.#stoppedAt < tailMs;
  }
}
