import type { Clock } from '@trunkline/schedule';
import type { SpeechPlayer } from '../speaking/speech-player.ts';

export interface BackchannelDeps {
  player: SpeechPlayer;
  clock: Clock;
  /** Whether the bot says "Mm-hm" to a caller who speaks for long. */
  enabled: boolean;
}

/** Speech of this length without a word gets a reprompt. */
const repromptAfterMs = 800;
const repromptEveryMs = 20_000;
const repromptText = 'Sorry, I did not catch that.';
/** A caller who has spoken for this long gets a backchannel in a pause. */
const backchannelAfterMs = 5000;
const backchannelPauseMs = 450;
const backchannelEveryMs = 8000;

/** What the bot says without a reply: "Mm-hm" while it listens, and a reprompt when it understood nothing. */
export class Backchannel {
  readonly #deps: BackchannelDeps;
  #repromptedAt = -Infinity;
  #saidAt = -Infinity;

  constructor(deps: BackchannelDeps) {
    this.#deps = deps;
  }

  /** The next reprompt need not wait. */
  onUnderstood(): void {
    this.#repromptedAt = -Infinity;
  }

  /** The caller spoke for so long, and nothing was understood. */
  reprompt(speechMs: number): void {
    const { clock, player } = this.#deps;
    if (speechMs < repromptAfterMs || clock.now() - this.#repromptedAt < repromptEveryMs) return;
    this.#repromptedAt = clock.now();
    player.say({ text: repromptText, cached: true });
  }

  /** The caller has spoken for so long and pauses in mid-thought. */
  offer(speechMs: number, silenceMs: number): void {
    const { clock, player, enabled } = this.#deps;
    if (!enabled || speechMs < backchannelAfterMs || silenceMs < backchannelPauseMs || !player.idle) return;
    if (clock.now() - this.#saidAt < backchannelEveryMs) return;
    this.#saidAt = clock.now();
    player.say({ text: 'Mm-hm.', cached: true, backchannel: true });
  }
}
