import type { Clock } from '@trunkline/schedule';
import { isHesitation } from './interruption.ts';
import { wordsIn } from './short-phrase.ts';

// Endpointing: when has the caller's turn ended?

/** What is known about a caller who has paused. */
export interface Pause {
  /** The transcript so far; undefined while it is being recognised. */
  text: string | undefined;
  /** How the pitch moved before the pause. */
  tone: Tone;
  /** How long they usually pause in mid-thought; 0: unknown. */
  usualPauseMs: number;
  /** Probability of an end of turn by the end-of-turn model; undefined without one. */
  finished?: number | undefined;
}

const shortestSilenceMs = 350;
const longestSilenceMs = 3000;
const plainSilenceMs = 550;
const finishedSilenceMs = 400;
const modelSilenceMs = 300;
/** Half of all sentences end so clearly. */
const clearSilenceMs = 250;
/** Longer than most pauses in mid-sentence; a reply is generated meanwhile. */
const doubtfulSilenceMs = 1050;
const unfinishedSilenceMs = 1700;
/** A pause in mid-sentence may last two seconds. */
const surelyUnfinishedSilenceMs = 2100;
const dictationSilenceMs = 2000;
const risingMs = 250;
const usualPauseMarginMs = 150;
const longestUsualPauseMs = 1500;

interface PauseJudgement {
  /** How long the silence must last before the caller's turn ends. */
  delayMs: number;
  reason: string;
}

export function judgePause(pause: Pause): PauseJudgement {
  if (pause.text === undefined)
    return { delayMs: longestSilenceMs, reason: 'the transcript is not there yet' };
  const needed =
    pause.finished === undefined ? byCues(pause.text, pause.tone) : byModel(pause.text, pause.finished);
  const usual =
    pause.usualPauseMs === 0 ? 0 : Math.min(pause.usualPauseMs + usualPauseMarginMs, longestUsualPauseMs);
  if (usual <= needed.delayMs) return needed;
  return { delayMs: usual, reason: `${needed.reason}, but this caller often pauses in mid-thought` };
}

export function endpointingDelay(pause: Pause): number {
  return judgePause(pause).delayMs;
}

function byCues(text: string, tone: Tone): PauseJudgement {
  const cue = phraseCue(text);
  if (cue === 'dictating') return dictating;
  if (cue === 'unfinished') return { delayMs: unfinishedSilenceMs, reason: 'the sentence must go on' };
  // A voice that rises without a question lists things or thinks.
  const isWaiting = tone === 'rising' && !/\?\s*$/.test(text);
  const waitingMs = isWaiting ? risingMs : 0;
  const voice = `the voice is ${tone}`;
  if (cue === 'open')
    return { delayMs: plainSilenceMs + waitingMs, reason: `the sentence may be whole, ${voice}` };
  const delayMs = (tone === 'falling' ? shortestSilenceMs : finishedSilenceMs) + waitingMs;
  return { delayMs, reason: `the sentence is whole, ${voice}` };
}

const dictating = { delayMs: dictationSilenceMs, reason: 'a number is being dictated' };

/** Chosen by the development clips of `bench/voice-turns.ts`. */
const clearlyFinished = 0.99;
const surelyFinished = 0.7;
const probablyFinished = 0.5;

/** The model hears more than the rules, but does not know that a number has more digits. */
function byModel(text: string, finished: number): PauseJudgement {
  if (phraseCue(text) === 'dictating') return dictating;
  const reason = `the end-of-turn model gives ${finished.toFixed(2)}`;
  if (finished >= clearlyFinished) return { delayMs: clearSilenceMs, reason };
  if (finished >= surelyFinished) return { delayMs: modelSilenceMs, reason };
  if (finished >= probablyFinished) return { delayMs: doubtfulSilenceMs, reason };
  return { delayMs: finished >= 0.1 ? unfinishedSilenceMs : surelyUnfinishedSilenceMs, reason };
}

/** A reply is generated for about so long before it can be heard: it begins so much before the end of the turn. */
const replyAheadMs = 1000;

/** Whether a reply is generated preemptively after so much silence: at once where the turn has likely ended, else in time for its end. */
export function isReplyDue(pause: Pause, silenceMs: number): boolean {
  if (pause.text === undefined) return false;
  return isLikelyEndOfTurn(pause) || silenceMs >= endpointingDelay(pause) - replyAheadMs;
}

/** Whether the caller seems to have said all they wanted to say. */
export function isLikelyEndOfTurn(pause: Pause): boolean {
  if (pause.text === undefined) return false;
  const longestMs = pause.finished === undefined ? plainSilenceMs + risingMs : doubtfulSilenceMs;
  return endpointingDelay(pause) <= longestMs;
}

const rememberedPauses = 12;
const enoughPauses = 3;
const longestPauseMs = 2500;

/** How long this caller pauses in mid-thought, learnt from the pauses after which they went on. */
export class SpeakingRate {
  readonly #pauses: number[] = [];

  /** A pause after which the same thought went on. */
  notePause(pauseMs: number): void {
    this.#pauses.push(Math.min(pauseMs, longestPauseMs));
    if (this.#pauses.length > rememberedPauses) this.#pauses.shift();
  }

  /** A pause that was wrongly taken for the end of the turn counts as several. */
  noteFalseEndpoint(pauseMs: number): void {
    for (let times = 0; times < enoughPauses; times += 1) this.notePause(pauseMs);
  }

  /** Four of five of their pauses are no longer; 0 while too little is known. */
  get usualPauseMs(): number {
    if (this.#pauses.length < enoughPauses) return 0;
    const sorted = this.#pauses.toSorted((left, right) => left - right);
    return sorted[Math.floor((sorted.length - 1) * 0.8)] ?? 0;
  }
}

/** The longest wait for a final transcript. */
const recognitionLimitMs = 8000;
/** Sound that goes on for this long without a word is noise. */
const wordlessLimitMs = 15_000;

export interface TranscriptTimeoutDeps {
  clock: Clock;
  /** The speech models still load: transcripts come late. */
  isLoading(): boolean;
}

/** Limits the wait for a transcript. Time in which models load does not count, however much is said meanwhile. */
export class TranscriptTimeout {
  readonly #deps: TranscriptTimeoutDeps;
  /** Since when a transcript could have come. */
  #listeningSince: number | undefined;
  /** Since when the caller has been silent. */
  #waitingSince = 0;

  constructor(deps: TranscriptTimeoutDeps) {
    this.#deps = deps;
  }

  /** A window of the user turn has passed. */
  pass(speaking: boolean): void {
    const { clock, isLoading } = this.#deps;
    if (isLoading()) this.#listeningSince = undefined;
    if (isLoading() || speaking) this.#waitingSince = clock.now();
    this.#listeningSince ??= clock.now();
  }

  /** The next user turn begins. */
  renew(): void {
    this.#listeningSince = undefined;
  }

  /** So much speech without a word is noise. */
  isWordless(speechMs: number): boolean {
    const listenedMs = this.#deps.clock.now() - (this.#listeningSince ?? Infinity);
    return Math.min(speechMs, listenedMs) > wordlessLimitMs;
  }

  /** The final transcript is overdue. */
  get isOver(): boolean {
    return this.#deps.clock.now() - this.#waitingSince >= recognitionLimitMs;
  }
}

/** Whether the words before a pause are a whole thought. */
type PhraseCue = 'finished' | 'open' | 'unfinished' | 'dictating';

function phraseCue(text: string): PhraseCue {
  const words = wordsIn(text);
  if (words.length === 0) return 'open';
  if (isDictating(text, words)) return 'dictating';
  if (trailsOff(text, words)) return 'unfinished';
  return endsSentence(text) ? 'finished' : 'open';
}

/** Words after which a sentence must go on. */
const leading = new Set(
  `a an the my your his her its our their this these those and or but nor so because if when while although unless until
  than of to in on at by for from with without about into onto over under between through during before after
  is are was were am be been im youre hes shes were theyre its thats will would can could should shall may might must
  do does did have has had i we they he she like very really just some any every each which who whose whom what where
  why how also then maybe please lets gonna wanna need want let tell give set call`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
/** Short sentences that end in one of those words all the same. */
const complete =
  /\b(what for|where to|where from|i do|i am|i have|i will|we are|we do|yes i can|i can|i would|what is it|who is it|it is|they are|like that|like this|what about it|and then what|how come|after that|before that|do you|can you|are you|will you|would you|dont you|say what|guess what|so what|now what|or what|tell me why|tell me how|i think so|let me in|come in|turn on|turn it on|go on|log in|put it on|how about this|about this|what was that)$/;

function trailsOff(text: string, words: string[]): boolean {
  const last = words.at(-1) ?? '';
  if (isHesitation(last)) return true;
  if (/[,:;–—-]\s*$|…\s*$|\.\.\.\s*$/.test(text)) return true;
  if (/[?!]\s*$/.test(text)) return false;
  return leading.has(last) && !complete.test(words.join(' '));
}

function endsSentence(text: string): boolean {
  return /[.?!]["')]?\s*$/.test(text) && !/\.\.\.\s*$/.test(text);
}

const digitWords = new Set(
  'zero oh one two three four five six seven eight nine ten double triple hundred thousand plus dash dot'.split(
    ' ',
  ),
);
const dictated =
  /\b(number|phone|code|card|pin|zip|account|serial|digits|extension|cell|mobile|postcode|id)\b/i;
const question = /\?\s*$|^\s*(what|how|when|where|who|which|is|are|do|does|can|could|will|would)\b/i;
/** A telephone number is whole with ten digits, a card with sixteen. */
const wholeNumber = { phone: 10, card: 16 };

/** Whether digits are being said one after the other, and more of them are to be expected. */
function isDictating(text: string, words: string[]): boolean {
  const run = trailingDigits(words);
  if (run === 0 || question.test(text)) return false;
  const whole = /\b(card|account|serial)\b/i.test(text) ? wholeNumber.card : wholeNumber.phone;
  if (run >= whole) return false;
  return dictated.test(text) || run >= 3;
}

function trailingDigits(words: string[]): number {
  const firstOther = words.findLastIndex((word) => !/^\d+$/.test(word) && !digitWords.has(word));
  return words.slice(firstOther + 1).reduce((sum, word) => sum + (/^\d+$/.test(word) ? word.length : 1), 0);
}

/** How the pitch moved at the end of what was said. */
export type Tone = 'rising' | 'falling' | 'level';

const pitchRate = 8000;
const spanMs = 300;
const frameSamples = 320;
const hopSamples = 160;
/** Voices lie between 70 and 400 Hz. */
const [shortestLag, longestLag] = [pitchRate / 400, Math.ceil(pitchRate / 70)];
const voicedAbove = 0.5;
const loudAbove = 1e-5;
const rises = 1.12;
const falls = 0.92;

/** Looks at the last 300 ms of voice in samples at 16 kHz that may end in silence. */
export function toneOf(samples: Float32Array): Tone {
  const pitches = lastPitches(halved(samples));
  if (pitches.length < 4) return 'level';
  const third = Math.max(2, Math.floor(pitches.length / 3));
  const change = median(pitches.slice(-third)) / median(pitches.slice(0, third));
  return change > rises ? 'rising' : change < falls ? 'falling' : 'level';
}

function halved(samples: Float32Array): Float32Array {
  const recent = samples.subarray(-16_000);
  return Float32Array.from(
    { length: recent.length >> 1 },
    (_, index) => ((recent[2 * index] ?? 0) + (recent[2 * index + 1] ?? 0)) / 2,
  );
}

/** Pitches of the last voiced frames, oldest first. */
function lastPitches(samples: Float32Array): number[] {
  const pitches: number[] = [];
  const wanted = Math.floor((spanMs * pitchRate) / 1000 / hopSamples);
  for (let start = samples.length - frameSamples - longestLag; start >= 0; start -= hopSamples) {
    const pitch = pitchAt(samples, start);
    if (pitch !== undefined) pitches.unshift(pitch);
    // A gap before the last syllables belongs to what was said earlier.
    else if (pitches.length >= 4) break;
    if (pitches.length >= wanted) break;
  }
  return pitches;
}

/** The lag at which the sound is most like itself, as a frequency; undefined where there is no voice. */
function pitchAt(samples: Float32Array, start: number): number | undefined {
  const energy = correlation(samples, start, 0);
  if (energy / frameSamples < loudAbove) return undefined;
  let best = 0;
  let bestLag = 0;
  for (let lag = shortestLag; lag <= longestLag; lag += 1) {
    const shifted = correlation(samples, start + lag, 0);
    const likeness = correlation(samples, start, lag) / Math.sqrt(energy * shifted + Number.EPSILON);
    // A longer lag must be clearly better: every multiple of the true one fits too.
    if (likeness > best + 0.02) [best, bestLag] = [likeness, lag];
  }
  return best > voicedAbove ? pitchRate / bestLag : undefined;
}

function correlation(samples: Float32Array, start: number, lag: number): number {
  let sum = 0;
  for (let index = start; index < start + frameSamples; index += 1)
    sum += (samples[index] ?? 0) * (samples[index + lag] ?? 0);
  return sum;
}

function median(values: number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}
