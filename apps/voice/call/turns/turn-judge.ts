import type { SpeechInput } from '../listening/speech-input.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { CallerLevel } from './caller-level.ts';
import type { EchoFilter } from './echo-filter.ts';
import { isLikelyEndOfTurn, judgePause, type SpeakingRate } from './endpointing.ts';
import { type InterruptionVerdict, isBackchannel, judgeInterruption } from './interruption.ts';

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
      far: level !== undefined && this.#callerLevel.isFar(level),
      raised: level !== undefined && this.#callerLevel.isRaised(level),
      asks: answers || player.asks,
      ending: player.isEnding && !goesOn,
    });
    return { ...judged, over, words: words ?? '' };
  }

  /** The caller has only shown that they listen. */
  isBackchannel(text: string): boolean {
    return isBackchannel({ speechMs: this.#deps.input.totalSpeechMs }, text);
  }

  /** A pause in what the caller says. */
  silence(): SilenceJudgement {
    const { input, speakingRate, echo, isOverdue } = this.#deps;
    const text = input.finalTranscript === undefined ? undefined : echo.removeFrom(input.finalTranscript);
    const { usualPauseMs } = speakingRate;
    const pause = { text, tone: input.tone, usualPauseMs, finished: input.endOfTurnProbability };
    const { delayMs, reason } = judgePause(pause);
    const isLikelyOver = isLikelyEndOfTurn(pause);
    if (text === undefined)
      return isOverdue()
        ? { text, isOver: true, isLikelyOver, reason: 'the transcript is overdue' }
        : { text, isOver: false, isLikelyOver, reason };
    const isOver = input.silenceMs >= delayMs;
    if (isOver && text !== '' && echo.isClear && input.level !== undefined)
      this.#callerLevel.learn(input.level);
    return {
      text,
      isOver,
      isLikelyOver,
      reason: `${reason}: ${delayMs} ms of silence end the turn`,
    };
  }
}
