import type { Clock } from '@trunkline/schedule';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import type { EchoCorrelator } from './echo-correlator.ts';
import { isStopWord, wordsIn } from './words.ts';

export interface EchoFilterDeps {
  player: SpeechPlayer;
  correlator: EchoCorrelator;
  clock: Clock;
  /** How long an echo may follow the end of the bot's speech. */
  guardMs: number;
}

/** Sound that ends this soon after the bot's speech was only its echo. */
const tailMs = 600;

/** Tells the caller's words from self-speech: the bot's own voice in the microphone. */
export class EchoFilter {
  readonly #deps: EchoFilterDeps;
  /** The bot's words that may be in what is heard now. */
  #selfSpeech = '';
  #stoppedAt = -Infinity;

  constructor(deps: EchoFilterDeps) {
    this.#deps = deps;
  }

  /** The bot is silent, and its echo has died away. */
  get isClear(): boolean {
    const { player, clock, guardMs } = this.#deps;
    return !player.speaking && clock.now() - this.#stoppedAt >= guardMs;
  }

  onUserSpeech(): void {
    if (!this.isClear) this.#selfSpeech = this.#deps.player.recentText();
  }

  /** The bot has stopped; `overlapped`: while something was heard. */
  onBotStopped(overlapped: boolean): void {
    const { player, clock } = this.#deps;
    this.#stoppedAt = clock.now();
    if (overlapped) this.#selfSpeech = player.recentText();
  }

  /** What is heard from now on is the caller's. */
  onInterruption(): void {
    this.#selfSpeech = this.#deps.player.recentText();
    this.#deps.correlator.reset();
  }

  /** The next user turn begins. */
  reset(): void {
    this.#selfSpeech = '';
    this.#deps.correlator.reset();
  }

  /** The caller's own words; one word alone counts as an echo only while the bot speaks. */
  removeFrom(text: string): string {
    const { player } = this.#deps;
    if (player.speaking) return removeSelfSpeech(text, player.recentText());
    return this.#selfSpeech === '' || wordsIn(text).length < 2
      ? text
      : removeSelfSpeech(text, this.#selfSpeech);
  }

  /** What is heard now sounds like the bot; undefined while it is too early to tell. */
  get isSelfSpeech(): boolean | undefined {
    const { player, correlator } = this.#deps;
    if (!player.speaking) return false;
    return correlator.isUnsure ? undefined : correlator.isEcho;
  }

  /** Nothing but the bot was heard, and it ended when the bot did. */
  isTail(userTurnEndedAt: number): boolean {
    return this.#deps.correlator.wasEcho && userTurnEndedAt - this.#stoppedAt < tailMs;
  }
}

/** What was heard without the bot's own words; empty when nothing else is left. */
export function removeSelfSpeech(heard: string, spoken: string): string {
  const ours = wordsIn(spoken);
  if (ours.length === 0) return heard;
  const pieces = heard.split(/\s+/).filter((piece) => piece !== '');
  const words = pieces.map((piece) => wordsIn(piece).join(''));
  const echoed = words.map(() => false);
  for (let start = 0; start < words.length; ) {
    const run = longestRun(words, start, ours);
    if (run >= 2) echoed.fill(true, start, start + run);
    start += Math.max(run, 1);
  }
  const single = words.length === 1 && ours.includes(words[0] ?? '') && !isStopWord(heard);
  if (single || isMostly(echoed, words, ours)) return '';
  return pieces.filter((_, index) => !echoed[index]).join(' ');
}

/** How many words from here on stand in the same order in what the bot said; one misheard word may stand between. */
function longestRun(words: string[], start: number, ours: string[]): number {
  let longest = 0;
  for (
    let from = ours.indexOf(words[start] ?? '');
    from >= 0;
    from = ours.indexOf(words[start] ?? '', from + 1)
  ) {
    let [length, matched] = [1, 1];
    while (start + length < words.length && from + length < ours.length) {
      const here = words[start + length] === ours[from + length];
      const next =
        words[start + length + 1] !== undefined && words[start + length + 1] === ours[from + length + 1];
      if (!here && !next) break;
      if (here) matched += 1;
      length += 1;
    }
    if (matched >= 2 || length === 1) longest = Math.max(longest, length);
  }
  return longest;
}

/** An echo that was misheard in places is still an echo. */
function isMostly(echoed: boolean[], words: string[], ours: string[]): boolean {
  const marked = echoed.filter(Boolean).length;
  if (marked === 0) return false;
  const known = words.filter((word, index) => echoed[index] || ours.includes(word)).length;
  return marked >= 3 && known / words.length >= 0.8;
}
