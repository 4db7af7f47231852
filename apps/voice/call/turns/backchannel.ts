import type { Clock } from '@trunkline/schedule';
import type { SpeechPlayer } from '../speaking/speech-player.ts';

export interface BackchannelDeps {
  player: SpeechPlayer;
  clock: Clock;
  /** Whether a long speaker is shown that one listens. */
  murmurs: boolean;
}

/** Speech without words that lasts this long deserves an answer. */
const puzzlingMs = 800;
const puzzledEveryMs = 20_000;
const notCaught = 'Sorry, I did not catch that.';
/** A speaker who has told this much is shown that one listens. */
const storyMs = 5000;
const murmurPauseMs = 450;
const murmurEveryMs = 8000;

/** Small things that are said without taking the turn. */
export class Backchannel {
  readonly #deps: BackchannelDeps;
  #puzzledAt = -Infinity;
  #murmuredAt = -Infinity;
  #murmuring = false;

  constructor(deps: BackchannelDeps) {
    this.#deps = deps;
  }

  /** What the player says now is only a murmur. */
  get murmuring(): boolean {
    return this.#murmuring;
  }

  /** Words were understood again. */
  understood(): void {
    this.#puzzledAt = -Infinity;
  }

  /** Somebody spoke for so long, and nothing was understood. */
  puzzle(speechMs: number): void {
    const { clock, player } = this.#deps;
    if (speechMs < puzzlingMs || clock.now() - this.#puzzledAt < puzzledEveryMs) return;
    this.#puzzledAt = clock.now();
    player.say({ text: notCaught, phrase: true });
  }

  /** Somebody has told so much and pauses in mid-thought. */
  murmur(speechMs: number, silenceMs: number): void {
    const { clock, player, murmurs } = this.#deps;
    if (!murmurs || speechMs < storyMs || silenceMs < murmurPauseMs || !player.idle) return;
    if (clock.now() - this.#murmuredAt < murmurEveryMs) return;
    this.#murmuredAt = clock.now();
    this.#murmuring = true;
    const over = () => {
      this.#murmuring = false;
    };
    player.say({ text: 'Mm-hm.', phrase: true, heard: over, cut: over, failed: over });
  }
}
