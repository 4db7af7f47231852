import type { Clock } from '@trunkline/schedule';
import type { AudioFrame } from '../../speech/audio/samples.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { isOrder } from './interruption.ts';
import { wordsIn } from './short-phrase.ts';

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
    const { player, correlator } = this.#deps;
    // "Stop" over a bot that has just said "stop" itself: the sound tells whose it was.
    if (player.speaking && isLoneOrder(text) && !correlator.isUnsure && !correlator.isEcho) return text;
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

const isLoneOrder = (text: string) => wordsIn(text).length === 1 && isOrder(text);

/**
 * What was heard without the bot's own words; empty when nothing else is left. Words between the caller's own stay: a
 * caller who repeats what the bot says ("and what is the capital of Italy?") is louder than its echo.
 */
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
  const [firstOwn, lastOwn] = [echoed.indexOf(false), echoed.lastIndexOf(false)];
  // Also "next" or "no": which of them is an order does not show, and who is not heard says more.
  const single = words.length === 1 && ours.includes(words[0] ?? '');
  if (single || isMostly(echoed, words, ours)) return '';
  return firstOwn < 0 ? '' : pieces.slice(firstOwn, lastOwn + 1).join(' ');
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

const slotMs = 8;
/** A window of the microphone covers this many slots. */
const slotsPerWindow = 4;
/** An echo comes back within this many slots: about 600 ms. */
const longestDelay = 75;
/** Mostly within this. */
const usualDelayMs = 250;
const comparedWindows = 36;
const fewestWindows = 10;
const rememberedSlots = 1024;
/** A voice and its echo correlate this much; two people who speak at once do not. */
const surelyAbove = 0.88;
const echoAbove = 0.8;
/** What was surely an echo may correlate a little less later. */
const stillAbove = 0.65;
const [flattest, steepest] = [0.4, 1.7];

type SoundBySlot = Map<number, { energy: number; samples: number }>;

/** Compares the loudness of what is heard with that of what is played: an echo goes up and down with it. */
export class EchoCorrelator {
  /** Energy and samples of what is played, by the time when it is. */
  readonly #played: SoundBySlot = new Map();
  #heard: { slot: number; level: number }[] = [];
  /** Nothing was played for so long that its echo has died away. */
  #isSilent = false;
  #sure = false;
  /** Until then there is something to be heard. */
  #playedUntil = -Infinity;
  /** While the bot is paused: what it would have played from then on, at the times planned before. */
  #held: { atMs: number; untilMs: number; slots: SoundBySlot } | undefined;

  /** When the bot paused; undefined while it goes on. */
  get pausedAt(): number | undefined {
    return this.#held?.atMs;
  }

  /** Something will be played at that time; during a pause, at the time when it would be without the pause. */
  play(atMs: number, { samples, sampleRate }: AudioFrame): void {
    const slots = this.#held?.slots ?? this.#played;
    const perSlot = (slotMs * sampleRate) / 1000;
    for (let at = 0; at < samples.length; at += perSlot) {
      const slot = Math.floor((atMs + (at / sampleRate) * 1000) / slotMs);
      const { energy, samples: count } = slots.get(slot) ?? { energy: 0, samples: 0 };
      const part = samples.subarray(at, at + perSlot);
      remember(slots, slot, { energy: energy + energyOf(part), samples: count + part.length });
    }
    const untilMs = atMs + (samples.length / sampleRate) * 1000;
    if (this.#held === undefined) this.#playedUntil = Math.max(this.#playedUntil, untilMs);
    else this.#held.untilMs = Math.max(this.#held.untilMs, untilMs);
  }

  /** Nothing is played from that time on, whatever was planned. */
  stop(atMs: number): void {
    this.#held = undefined;
    this.#playedUntil = Math.min(this.#playedUntil, atMs);
    for (const slot of this.#played.keys()) if (slot * slotMs >= atMs) this.#played.delete(slot);
  }

  /** The bot is silent from that time on, until it goes on where it was. */
  pause(atMs: number): void {
    const slots = new Map([...this.#played].filter(([slot]) => slot * slotMs >= atMs));
    const untilMs = this.#playedUntil;
    this.stop(atMs);
    this.#held = { atMs, untilMs, slots };
  }

  resume(atMs: number): void {
    if (this.#held === undefined) return;
    const { atMs: heldAt, untilMs, slots } = this.#held;
    this.#held = undefined;
    const later = Math.round((atMs - heldAt) / slotMs);
    for (const [slot, sound] of slots) remember(this.#played, slot + later, sound);
    this.#playedUntil = Math.max(this.#playedUntil, untilMs + atMs - heldAt);
  }

  /** This is heard at that time. */
  hear(window: Float32Array, atMs: number): void {
    const energy = window.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, window.length);
    this.#heard.push({ slot: Math.floor(atMs / slotMs), level: levelOf(energy) });
    if (this.#heard.length > comparedWindows) this.#heard.shift();
    const isLater = atMs > this.#playedUntil + longestDelay * slotMs;
    this.#isSilent = isLater && Number.isFinite(this.#playedUntil);
    // What is heard while the bot is silent says nothing about an echo of what it says next.
    if (isLater) this.#heard = [];
  }

  /** Too little was heard since the bot began to speak. In a long pause, or a hole in its speech, nothing can be its echo. */
  get isUnsure(): boolean {
    return this.#heard.length < fewestWindows && !this.#isSilent;
  }

  /** What was heard lately is the bot's voice. */
  get isEcho(): boolean {
    const { likeness } = this;
    this.#sure ||= likeness >= surelyAbove;
    return likeness >= (this.#sure ? stillAbove : this.#isLongPaused ? surelyAbove : echoAbove);
  }

  /** The echo of a bot that has paused would have ended by now: another voice is alike by chance, at ever longer delays. */
  get #isLongPaused(): boolean {
    const heardAt = (this.#heard.at(-1)?.slot ?? 0) * slotMs;
    return this.#held !== undefined && heardAt - this.#held.atMs > usualDelayMs;
  }

  /** This user turn was the bot's voice for a while. */
  get wasEcho(): boolean {
    return this.#sure;
  }

  /** The next user turn begins. */
  reset(): void {
    this.#sure = false;
  }

  /** From 0 to 1, at the delay that fits best. */
  get likeness(): number {
    if (this.#heard.length < fewestWindows) return 0;
    const heard = this.#heard.map(({ level }) => level);
    const levels = this.#playedLevels();
    let best = 0;
    for (let delay = 0; delay <= longestDelay; delay += 1) {
      const played = this.#heard.map(({ slot }) => levels.get(slot - delay) ?? 0);
      best = Math.max(best, correlation(heard, played));
    }
    return best;
  }

  /** How loud each window would be if it ended with that slot. */
  #playedLevels(): Map<number, number> {
    const [first, last] = [this.#heard[0]?.slot ?? 0, this.#heard.at(-1)?.slot ?? 0];
    const levels = new Map<number, number>();
    for (let slot = first - longestDelay; slot <= last; slot += 1) {
      let [energy, samples] = [0, 0];
      for (let part = slot - slotsPerWindow; part < slot; part += 1) {
        energy += this.#played.get(part)?.energy ?? 0;
        samples += this.#played.get(part)?.samples ?? 0;
      }
      levels.set(slot, levelOf(energy / Math.max(1, samples)));
    }
    return levels;
  }
}

function remember(slots: SoundBySlot, slot: number, sound: { energy: number; samples: number }): void {
  slots.set(slot, sound);
  const [oldest] = slots.keys();
  if (slots.size > rememberedSlots && oldest !== undefined) slots.delete(oldest);
}

function energyOf(samples: Int16Array): number {
  return samples.reduce((sum, sample) => sum + (sample / 2 ** 15) ** 2, 0);
}

/** Decibels, without what is too soft to count. */
function levelOf(energy: number): number {
  return Math.max(0, 10 * Math.log10(energy + 1e-12) + 55);
}

/** How alike the two are; 0 when one moves much further than the other, as an echo does not. */
function correlation(left: readonly number[], right: readonly number[]): number {
  const [leftMean, rightMean] = [mean(left), mean(right)];
  let [both, ofLeft, ofRight] = [0, 0, 0];
  for (const [index, value] of left.entries()) {
    const [one, other] = [value - leftMean, (right[index] ?? 0) - rightMean];
    both += one * other;
    ofLeft += one * one;
    ofRight += other * other;
  }
  if (ofLeft === 0 || ofRight === 0) return 0;
  const steepness = both / ofRight;
  return steepness < flattest || steepness > steepest ? 0 : both / Math.sqrt(ofLeft * ofRight);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
