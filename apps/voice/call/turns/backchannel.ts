import type { Clock } from '@trunkline/schedule';
import type { Language } from '../../languages/languages.ts';
import { Alarm } from '../clock.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { isQuestion } from '../speaking/speech-text.ts';

export interface BackchannelDeps {
  player: SpeechPlayer;
  clock: Clock;
  language(): Language;
  /** Whether the bot says "Mm-hm" to a caller who speaks for long. */
  enabled: boolean;
  /** Silence after which the caller is asked whether they are still there; undefined: never. */
  silenceLimitMs?: number | undefined;
  /** How long neither side has said or done anything. */
  quietMs(): number;
}

/** Speech of this length without a word gets a reprompt; less after a question, whose answer may be one short word. */
const [repromptAfterMs, answerAfterMs] = [800, 250];
/** So many in a row; then none for a while, as what is heard may be no speech. */
const mostReprompts = 2;
const repromptEveryMs = 20_000;
/** A caller who has spoken for this long gets a backchannel in a pause. */
const backchannelAfterMs = 5000;
const backchannelPauseMs = 450;
const backchannelEveryMs = 8000;

/** What the bot says without a reply: "Mm-hm" while it listens, a reprompt when it understood or heard nothing. */
export class Backchannel {
  readonly #deps: BackchannelDeps;
  #repromptedAt = -Infinity;
  #reprompts = 0;
  /** The bot has asked something, or asked for something again. */
  #expectsAnswer = false;
  #saidAt = -Infinity;
  readonly #silence: Alarm;
  #askedStillThere = false;
  #closed = false;

  constructor(deps: BackchannelDeps) {
    this.#deps = deps;
    this.#silence = new Alarm(deps.clock);
  }

  /** The bot's last words were a question. */
  get asks(): boolean {
    return this.#expectsAnswer;
  }

  /** It is the caller's turn: a long silence is asked about, once. */
  onBotTurnFinished(): void {
    const { reprompt, repromptAgain } = this.#deps.language();
    const said = this.#deps.player.recentText();
    this.#expectsAnswer = isQuestion(said) || said.endsWith(reprompt) || said.endsWith(repromptAgain);
    const { silenceLimitMs } = this.#deps;
    if (silenceLimitMs !== undefined && !this.#askedStillThere && !this.#closed)
      this.#silence.set(silenceLimitMs, () => this.#askIfQuiet(silenceLimitMs));
  }

  /** Somebody may speak, or a model think, since the bot's turn ended. */
  #askIfQuiet(limitMs: number): void {
    const { player, quietMs, language } = this.#deps;
    const leftMs = limitMs - quietMs();
    if (leftMs > 0) {
      this.#silence.set(leftMs, () => this.#askIfQuiet(limitMs));
      return;
    }
    this.#askedStillThere = true;
    player.say({ text: language().stillThere, cached: true });
  }

  close(): void {
    this.#closed = true;
    this.#silence.cancel();
  }

  /** The caller speaks or writes, or the bot does. */
  onTurnTaken(byUser = false): void {
    this.#silence.cancel();
    if (byUser) this.#askedStillThere = false;
  }

  /** The next reprompt need not wait. */
  onUnderstood(): void {
    this.#reprompts = 0;
  }

  /** The caller spoke for so long, and nothing was understood. */
  reprompt(speechMs: number): void {
    const { clock, player, language } = this.#deps;
    if (clock.now() - this.#repromptedAt >= repromptEveryMs) this.#reprompts = 0;
    if (speechMs < (this.#expectsAnswer ? answerAfterMs : repromptAfterMs)) return;
    if (this.#reprompts === mostReprompts) return;
    const { reprompt, repromptAgain } = language();
    player.say({ text: this.#reprompts === 0 ? reprompt : repromptAgain, cached: true });
    this.#repromptedAt = clock.now();
    this.#reprompts += 1;
  }

  /** The caller has spoken for so long and pauses in mid-thought. */
  offer(speechMs: number, silenceMs: number): void {
    const { clock, player, enabled, language } = this.#deps;
    if (!enabled || speechMs < backchannelAfterMs || silenceMs < backchannelPauseMs || !player.idle) return;
    if (clock.now() - this.#saidAt < backchannelEveryMs) return;
    this.#saidAt = clock.now();
    player.say({ text: language().backchannel, cached: true, backchannel: true });
  }
}
