import type { Clock } from '@trunkline/schedule';
import type { Mouth } from './speaking/mouth.ts';
import { withoutEcho } from './turns/echo.ts';
import type { EchoMatcher } from './turns/echo-matcher.ts';
import { wordsIn } from './turns/words.ts';

export interface OwnWordsParts {
  mouth: Mouth;
  echo: EchoMatcher;
  clock: Clock;
  /** How long an echo may come after the voice has stopped. */
  guardMs: number;
}

/** Sound that ends this soon after our voice was only its echo. */
const tailMs = 600;

/** Tells the caller's own words from ours that come back through the microphone. */
export class OwnWords {
  readonly #parts: OwnWordsParts;
  /** Our words that may be in what is heard now. */
  #echo = '';
  #stoppedAt = -Infinity;

  constructor(parts: OwnWordsParts) {
    this.#parts = parts;
  }

  /** Somebody begins to speak, or it seems so. */
  speechStarted(): void {
    const { mouth, clock, guardMs } = this.#parts;
    if (mouth.speaking || clock.now() - this.#stoppedAt < guardMs) this.#echo = mouth.recentText();
  }

  /** Our voice has stopped; `heard`: while something was heard. */
  voiceStopped(heard: boolean): void {
    const { mouth, clock } = this.#parts;
    this.#stoppedAt = clock.now();
    if (heard) this.#echo = mouth.recentText();
  }

  /** The caller has the floor: what is heard from now on is theirs. */
  interrupted(): void {
    this.#echo = this.#parts.mouth.recentText();
    this.#parts.echo.reset();
  }

  /** The next utterance begins. */
  reset(): void {
    this.#echo = '';
    this.#parts.echo.reset();
  }

  /** What the caller has said themselves; one word alone counts as an echo only while we speak. */
  in(text: string): string {
    const { mouth } = this.#parts;
    if (mouth.speaking) return withoutEcho(text, mouth.recentText());
    return this.#echo === '' || wordsIn(text).length < 2 ? text : withoutEcho(text, this.#echo);
  }

  /** What is heard now sounds like our own voice; undefined while it cannot be told. */
  get isEcho(): boolean | undefined {
    const { mouth, echo } = this.#parts;
    if (!mouth.speaking) return false;
    return echo.isUnsure ? undefined : echo.isEcho;
  }

  /** Nothing but our own voice was heard, and it ended when we did. */
  isTail(fellSilentAt: number): boolean {
    return this.#parts.echo.wasEcho && fellSilentAt - this.#stoppedAt < tailMs;
  }
}
