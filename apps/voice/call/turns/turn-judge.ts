import type { SpeechInput } from '../listening/speech-input.ts';
import type { LikelyEnd } from '../listening/user-utterance.ts';
import type { DraftReason } from '../replying/preemptive-generation.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { CallerLevel } from './caller-level.ts';
import type { EchoFilter } from './echo-filter.ts';
import { isLikelyEndOfTurn, isReplyDue, judgePause, type SpeakingRate } from './endpointing.ts';
import { type InterruptionVerdict, isBackchannel, judgeInterruption, surelyVoice } from './interruption.ts';

/** Voices have shorter holes. */
const settledMs = 96;
/** Who coughs in mid-sentence needs so long to go on. */
const afterNoiseMs = 600;

interface TurnJudgeDeps {
  input: SpeechInput;
  player: SpeechPlayer;
  echo: EchoFilter;
  speakingRate: SpeakingRate;
  /** The final transcript is overdue. */
  isOverdue(): boolean;
}

interface OverlapJudgement {
  verdict: InterruptionVerdict;
  reason: string;
  /** The caller has stopped, and the transcript is final. */
  over: boolean;
  /** The transcript without self-speech. */
  words: string;
}

interface SilenceJudgement {
  /** The transcript without self-speech; undefined while it is being recognised. */
  text: string | undefined;
  isOver: boolean;
  isLikelyOver: boolean;
  /** Why a reply is to be generated now, so that it is there when the turn ends. */
  draft: DraftReason | undefined;
  reason: string;
}

/** Judges by sound and transcript what the caller means: an interruption, or the end of their turn. */
export class TurnJudge {
  readonly #deps: TurnJudgeDeps;
  readonly #callerLevel = new CallerLevel();

  constructor(deps: TurnJudgeDeps) {
    this.#deps = deps;
  }

  /** What the caller says while the bot has the turn. `goesOn`: more follows what is being said, or the call ends with it. `answers`: it was judged to be an answer before. */
  overlap(goesOn: boolean, answers: boolean): OverlapJudgement {
    const { input, player, echo } = this.#deps;
    const over = !input.speaking && input.finalTranscript !== undefined;
    const { isSelfSpeech } = echo;
    if (isSelfSpeech === undefined && !over)
      return { verdict: 'wait', reason: 'too early to tell whose voice it is', over, words: '' };
    const words = input.transcript ? echo.removeFrom(input.transcript) : over ? '' : undefined;
    const level = player.speaking ? input.level : undefined;
    const judged = judgeInterruption({
      speechMs: input.totalSpeechMs,
      words,
      over,
      selfSpeech: isSelfSpeech ?? false,
      voiceProbability: input.voiceProbability,
      far: this.isFar,
      raised: level !== undefined && this.#callerLevel.isRaised(level),
      rises: over ? input.tone === 'rising' : undefined,
      asks: answers || player.asks,
      ending: player.isEnding && !goesOn,
    });
    return { ...judged, over, words: words ?? '' };
  }

  /** What is heard while the bot speaks is somebody further away than the caller. */
  get isFar(): boolean {
    const { input, player } = this.#deps;
    return player.speaking && input.level !== undefined && this.#callerLevel.isFar(input.level);
  }

  /** The caller is speaking: surely a voice, neither far away nor the bot's own. */
  get isCallerSpeaking(): boolean {
    const { input, echo } = this.#deps;
    const isVoice = input.speaking && (input.voiceProbability ?? 0) >= surelyVoice;
    return isVoice && !this.isFar && echo.isSelfSpeech !== true;
  }

  /** The caller has only shown that they listen. */
  isBackchannel(text: string): boolean {
    return isBackchannel({ speechMs: this.#deps.input.totalSpeechMs }, text);
  }

  /** What was said before a silence that is no pause yet, without self-speech; undefined where more of it is likely. */
  likelyEnd(likely: LikelyEnd | undefined): string | undefined {
    if (likely === undefined) return undefined;
    const pause = { text: this.#deps.echo.removeFrom(likely.text), finished: likely.finished };
    return isLikelyEndOfTurn({ ...pause, tone: 'level', usualPauseMs: 0 }) ? pause.text : undefined;
  }

  /** A pause in what the caller says. */
  silence(): SilenceJudgement {
    const { input, speakingRate, echo, isOverdue } = this.#deps;
    const text = input.finalTranscript === undefined ? undefined : echo.removeFrom(input.finalTranscript);
    const { usualPauseMs } = speakingRate;
    const pause = { text, tone: input.tone, usualPauseMs, finished: input.endOfTurnProbability };
    const { delayMs, reason } = judgePause(pause);
    // Whatever pauses this caller makes.
    const why = isLikelyEndOfTurn({ ...pause, usualPauseMs: 0 }) ? 'seems whole' : 'may be all that is said';
    const draft = isReplyDue(pause, input.silenceMs) ? why : undefined;
    const judged = { text, isLikelyOver: isLikelyEndOfTurn(pause), draft } as const;
    if (text === undefined)
      return isOverdue()
        ? { ...judged, isOver: true, reason: 'the transcript is overdue' }
        : { ...judged, isOver: false, reason };
    // A sound that is no speech does not make the silence longer. One that may become speech is waited for, and who coughs
    // in mid-sentence may go on.
    const neededMs = Math.max(Math.min(delayMs, afterNoiseMs), delayMs - input.wordlessMs);
    const quietMs = delayMs > afterNoiseMs ? afterNoiseMs : settledMs;
    const isOver = input.silenceMs >= neededMs && input.quietMs >= quietMs;
    if (isOver && text !== '' && echo.isClear && input.level !== undefined)
      this.#callerLevel.learn(input.level);
    return { ...judged, isOver, reason: `${reason}: ${delayMs} ms of silence end the turn` };
  }
}
