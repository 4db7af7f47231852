import type { ToolOutcome } from '../delivery/delivery.ts';
import { TurnMarks } from '../metrics/metrics.ts';
import {
  botHasTurn,
  type CallEvent,
  type CallState,
  nextUserTurn,
  replyOf,
  transition,
  type UserTurn,
  userTurnOf,
} from './call-state.ts';
import { CallHold, Farewell } from './call-tools.ts';
import { Alarm } from './clock.ts';
import type { LikelyEnd } from './listening/user-utterance.ts';
import { LateResults } from './replying/late-results.ts';
import { type DraftReason, PreemptiveGeneration } from './replying/preemptive-generation.ts';
import { Reply } from './replying/reply.ts';
import type { TurnControllerDeps } from './turn-controller-deps.ts';
import { TranscriptTimeout } from './turns/endpointing.ts';
import { falseInterruptionTimeoutMs, joined, nothing, type Words } from './turns/interruption.ts';
import { wordsIn } from './turns/short-phrase.ts';
import { TurnJudge } from './turns/turn-judge.ts';

/** Decides whose turn it is. Owns the state of the call (`call-state.ts`); input and player report events to it. */
export class TurnController {
  readonly #deps: TurnControllerDeps;
  readonly #falseInterruptionTimer: Alarm;
  readonly #preemptive: PreemptiveGeneration;
  readonly #transcriptTimeout: TranscriptTimeout;
  readonly judge: TurnJudge;
  readonly #lateResults = new LateResults();
  #state: CallState;
  /** What the caller said or wrote that no reply has answered yet. */
  #unanswered = nothing;
  #userTurnEndedAt = -Infinity;
  readonly #farewell: Farewell;
  /** While it is on, nothing is answered until the caller comes back, writes or interrupts. */
  readonly hold: CallHold;

  constructor(deps: TurnControllerDeps) {
    this.#deps = deps;
    this.hold = new CallHold(deps);
    this.#farewell = new Farewell(deps);
    this.#preemptive = new PreemptiveGeneration(deps.decisions);
    this.#falseInterruptionTimer = new Alarm(deps.clock);
    this.#transcriptTimeout = new TranscriptTimeout(deps);
    this.judge = new TurnJudge({ ...deps, isOverdue: () => this.#transcriptTimeout.isOver });
    this.#state = { name: 'idle', since: deps.clock.now() };
  }

  /** How long the call has been idle. */
  get quietMs(): number {
    const { player, clock } = this.#deps;
    if (this.#state.name !== 'idle' || !player.idle || this.hold.isOn) return 0;
    return clock.now() - Math.max(this.#state.since, this.hold.endedAt);
  }

  /** The caller began to speak, or went on after a pause. */
  onSpeechStarted(): void {
    const { clock, input, player, echo, backchannel, decisions } = this.#deps;
    backchannel.onTurnTaken(true);
    this.#preemptive.cancel('the caller went on');
    decisions.renew();
    decisions.note('voice-detected', `while the call was ${this.#state.name}`);
    const userTurn = nextUserTurn(this.#state, clock.now() - input.speechMs);
    this.#dispatch({ type: 'user-speaking', userTurn });
    echo.onUserSpeech();
    // Nobody notices that a voice waits which has not begun; one that was silenced waits from now on with a limit.
    const isUnheard = this.#state.name === 'thinking' && this.#state.reply?.holdsFloor === false;
    if (isUnheard || player.paused) this.#dispatch({ type: 'possible-interruption' });
    if (this.#state.name !== 'paused') player.resume();
  }

  onTranscript(text: string): void {
    const { input, clock, echo } = this.#deps;
    const userTurn = userTurnOf(this.#state);
    if (userTurn !== undefined && input.finalTranscript !== undefined) userTurn.transcribedAt ??= clock.now();
    if (userTurn?.announced && !botHasTurn(this.#state)) this.#transcribe(echo.removeFrom(text), false);
    this.onWindow();
  }

  /** A window of sound has passed, or the transcript has changed. */
  onWindow(): void {
    const { input } = this.#deps;
    const userTurn = userTurnOf(this.#state);
    if (!input.active || userTurn === undefined) return;
    this.#dispatch({ type: input.speaking ? 'user-speaking' : 'user-silent', userTurn });
    this.#transcriptTimeout.pass(input.speaking);
    if (!input.transcript && this.#transcriptTimeout.isWordless(input.totalSpeechMs)) this.#dropNoise();
    else if (botHasTurn(this.#state)) this.#judgeInterruption();
    else {
      if (!userTurn.falseInterruption) this.#announce(userTurn);
      if (this.#state.name === 'endpointing') this.#judgeEndpoint();
    }
  }

  /** A silence that is no pause yet seems to end the turn; undefined: the caller goes on. */
  onLikelyEnd(likely: LikelyEnd | undefined): void {
    if (likely === undefined) this.#preemptive.cancel('the caller went on');
    const text = botHasTurn(this.#state) || this.hold.isOn ? undefined : this.judge.likelyEnd(likely);
    if (text !== undefined) this.#generatePreemptively(text, 'seems whole');
  }

  /** What the caller says over the bot was judged to be no interruption. */
  get isFalseInterruption(): boolean {
    return userTurnOf(this.#state)?.falseInterruption === true;
  }

  /** Ends the call when the bot has said what it is saying, unless the caller says more. */
  endCall(): void {
    this.#farewell.isDue = true;
  }

  onUtteranceQueued(): void {
    this.#deps.backchannel.onTurnTaken();
    this.#dispatch({ type: 'utterance-queued' });
  }

  onPlayoutStarted(): void {
    this.#dispatch({ type: 'playout-started' });
  }

  onPlayerIdle(): void {
    if (replyOf(this.#state) === undefined) this.#endBotTurn();
    else this.#dispatch({ type: 'playout-finished' });
  }

  /** Answers a written message. */
  write(text: string, { interrupts, spoken }: { interrupts: boolean; spoken: boolean }): void {
    const words = { text, saidAt: this.#deps.clock.now() };
    if (botHasTurn(this.#state) && (!interrupts || this.isFloorHeld)) this.#answerLater(words);
    else {
      this.#cancel('a written message came');
      this.#answer(words, new TurnMarks(this.#deps.clock.now, 0), spoken);
    }
  }

  /** Has the model announce a tool's late result. `done` reports whether any of it was heard. */
  announceResult(outcome: ToolOutcome, done: (heard: boolean) => void): void {
    this.#lateResults.add(outcome, done);
    if (replyOf(this.#state) === undefined) this.#announceNextResult();
  }

  close(): void {
    this.#deps.backchannel.close();
    this.#cancel('the call is over');
  }

  #dispatch(event: CallEvent): void {
    const { player, clock, logger } = this.#deps;
    const before = this.#state.name;
    this.#state = transition(this.#state, event, clock.now());
    const after = this.#state.name;
    if (before !== after) logger.debug({ from: before, to: after, event: event.type }, 'call state changed');
    if (before !== 'paused' && after === 'paused') player.pause();
    // The recogniser may be slow: nobody is spoken over who speaks on.
    if (after === 'paused' && (before !== 'paused' || this.judge.isCallerSpeaking))
      this.#falseInterruptionTimer.set(falseInterruptionTimeoutMs, () => {
        this.#deps.decisions.note('resume', `no words within ${falseInterruptionTimeoutMs} ms`);
        this.#resume();
      });
    if (before === 'paused' && after !== 'paused') this.#falseInterruptionTimer.cancel();
  }

  #announce(userTurn: UserTurn): void {
    if (userTurn.announced) return;
    userTurn.announced = true;
    this.#deps.send({ type: 'user-started-speaking' });
  }

  #judgeInterruption(): void {
    const { player, persona, decisions } = this.#deps;
    const goesOn = this.#farewell.isDue || replyOf(this.#state)?.isGenerating === true;
    const { answers = false } = userTurnOf(this.#state) ?? {};
    const { verdict, reason, over, words } = this.judge.overlap(goesOn, answers);
    if (this.isFloorHeld && (verdict === 'interrupt' || verdict === 'answer')) {
      if (!over) return;
      decisions.note('hold-floor', `"${words}" is answered when the tool is done`);
      this.#answerAfterwards(words);
      return;
    }
    const mayInterrupt = persona.skill.behavior.bargein !== false || !player.speaking;
    const mayPause = mayInterrupt && !this.isFalseInterruption && !this.isFloorHeld;
    if (verdict === 'interrupt' && mayInterrupt) this.#interrupt(reason);
    else if (verdict === 'pause' && mayPause) {
      decisions.note('pause', reason);
      this.#dispatch({ type: 'possible-interruption' });
    } else if (verdict === 'answer') {
      decisions.note('keep-answer', reason);
      if (over) this.#answerAfterwards(words);
      else this.#goOn(true);
    } else if (verdict === 'ignore' || over) {
      decisions.note('ignore', mayInterrupt ? reason : 'the skill does not allow interruptions');
      this.#resume(over);
    }
  }

  /** The bot goes on. What answers the question that it is asking stays the caller's turn; the rest was no interruption. */
  #goOn(isAnswer: boolean): void {
    const userTurn = userTurnOf(this.#state);
    if (userTurn !== undefined) [userTurn.answers, userTurn.falseInterruption] = [isAnswer, !isAnswer];
    this.#dispatch({ type: 'false-interruption' });
    this.#deps.player.resume();
  }

  get isFloorHeld(): boolean {
    return replyOf(this.#state)?.holdsFloor === true;
  }

  /** What the caller said does not disturb the bot: it is answered when the bot's turn is over. */
  #answerAfterwards(text: string): void {
    this.hold.onWords(text);
    if (!this.hold.isOn) this.#answerLater({ text, saidAt: this.#saidAt });
    this.#resume(true);
  }

  #answerLater(words: Words): void {
    this.#unanswered = { ...joined(this.#unanswered, words), saidAt: words.saidAt };
  }

  get #saidAt(): number {
    return userTurnOf(this.#state)?.saidAt ?? this.#deps.clock.now();
  }

  /** It was no interruption. `over`: the caller has finished, too. */
  #resume(over = false): void {
    this.#goOn(false);
    if (over) this.endUserTurn();
  }

  /** Barge-in. */
  #interrupt(reason: string): void {
    const { speakingRate, echo, input, decisions } = this.#deps;
    const userTurn = userTurnOf(this.#state);
    if (userTurn === undefined) return;
    decisions.note('interrupt', reason);
    if (replyOf(this.#state)?.wasHeard === false)
      speakingRate.noteFalseEndpoint(userTurn.startedAt - this.#userTurnEndedAt);
    echo.onInterruption();
    this.#stopBot({ type: 'interrupted', userTurn }, reason);
    this.#announce(userTurn);
    if (!input.speaking) this.onWindow();
  }

  /** Stops everything, for a written message or a hang-up. */
  #cancel(reason: string): void {
    const announced = userTurnOf(this.#state)?.announced;
    this.#farewell.isDue = false;
    this.#stopBot({ type: 'cancelled' }, reason);
    this.endUserTurn(announced);
  }

  /** Stops the reply at once; what was not heard was not said. */
  #stopBot(event: CallEvent, reason: string): void {
    const { player, history, send, clock } = this.#deps;
    const [reply, spoke] = [replyOf(this.#state), player.speaking];
    this.hold.set(false);
    this.#preemptive.cancel(reason);
    this.#dispatch(event);
    reply?.abandon();
    player.interrupt();
    // Who goes on before the answer is heard says one thing; who speaks after it says a new one.
    if (reply?.hasEffect === false) this.#unanswered = joined(reply, this.#unanswered);
    else this.#unanswered = { ...this.#unanswered, saidAt: clock.now() };
    history.add(reply?.conclusion() ?? []);
    this.#lateResults.drop();
    if (spoke || reply !== undefined) send({ type: 'bot-interrupted' });
  }

  #judgeEndpoint(): void {
    const { input, backchannel, decisions } = this.#deps;
    const { text, isOver, isLikelyOver, draft, reason } = this.judge.silence();
    decisions.note(isOver ? 'end-of-turn' : 'wait', reason);
    if (isOver) this.#endOfTurn(text ?? input.transcript ?? '');
    if (isOver || text === undefined || this.hold.isOn) return;
    if (draft !== undefined) this.#generatePreemptively(text, draft);
    if (!isLikelyOver || wordsIn(text).length === 0) backchannel.offer(input.totalSpeechMs, input.silenceMs);
  }

  /** Starts a reply that is thrown away if the caller goes on. */
  #generatePreemptively(text: string, why: DraftReason): void {
    const { clock, input } = this.#deps;
    if (wordsIn(text).length === 0) return;
    const whole = joined(this.#unanswered, { text, saidAt: this.#saidAt });
    const marks = new TurnMarks(clock.now, input.silenceMs);
    this.#preemptive.start(whole.text, why, () => this.#createReply(whole, marks, true));
  }

  #endOfTurn(text: string): void {
    const { input, backchannel, clock, echo } = this.#deps;
    const { text: whole } = joined(this.#unanswered, { text, saidAt: this.#saidAt });
    const marks = this.#preemptive.find(whole)?.marks ?? new TurnMarks(clock.now, input.silenceMs);
    const userTurn = userTurnOf(this.#state);
    marks.noteEndOfTurn(userTurn?.transcribedAt);
    this.#userTurnEndedAt = clock.now() - input.silenceMs;
    const [speechMs, saidAt, answers] = [input.totalSpeechMs, this.#saidAt, userTurn?.answers];
    const [overlapped, isTail] = [this.isFalseInterruption, echo.isTail(this.#userTurnEndedAt)];
    const isFarewell = this.#farewell.isDue && !answers && this.judge.isBackchannel(text);
    this.endUserTurn();
    this.hold.onWords(text);
    const understood = wordsIn(text).length > 0;
    if (understood && !this.hold.isOn && !isTail && !isFarewell) this.#answer({ text, saidAt }, marks, true);
    else {
      const because = isFarewell ? 'a backchannel over the farewell' : "the end of the bot's own words";
      const heard = understood ? because : 'no words were understood';
      const reason = this.hold.isOn ? 'the call is on hold' : heard;
      this.#preemptive.cancel(reason);
      this.#deps.decisions.note('no-answer', reason);
    }
    this.#farewell.hangUpIf(this.#state.name === 'idle');
    if (!understood && !overlapped && !this.hold.isOn) backchannel.reprompt(speechMs);
  }

  /** The sound went on for too long without a word. */
  #dropNoise(): void {
    this.#deps.decisions.note('no-answer', 'the sound went on for too long without a word');
    this.#preemptive.cancel('no word came');
    this.#resume(true);
    this.#farewell.hangUpIf(this.#state.name === 'idle');
  }

  /** Ends what the caller is saying; without an answer it is dropped. */
  endUserTurn(announced = userTurnOf(this.#state)?.announced): void {
    const { input, echo, send } = this.#deps;
    input.reset();
    echo.reset();
    this.#transcriptTimeout.renew();
    this.#preemptive.renew();
    this.#dispatch({ type: 'user-turn-ended' });
    if (announced) send({ type: 'user-stopped-speaking' });
  }

  #answer(words: Words, marks: TurnMarks, spoken: boolean): void {
    this.#farewell.isDue = false;
    this.#transcribe(words.text, true);
    this.#deps.backchannel.onUnderstood();
    if (this.#deps.intercept(words.text)) this.#preemptive.cancel('the words need no model');
    else {
      const whole = joined(this.#unanswered, words);
      this.#unanswered = nothing;
      this.#startReply(this.#preemptive.take(whole.text) ?? this.#createReply(whole, marks, spoken));
    }
  }

  #announceNextResult(): void {
    const { now } = this.#deps.clock;
    const [said, marks] = [{ text: '', saidAt: now() }, new TurnMarks(now, 0)];
    const reply = this.#lateResults.announceNext((outcome) => this.#createReply(said, marks, true, outcome));
    if (reply !== undefined) this.#startReply(reply);
  }

  #startReply(reply: Reply): void {
    this.#dispatch({ type: 'reply-started', reply });
    // A backchannel may still be heard.
    if (this.#deps.player.speaking) this.#dispatch({ type: 'playout-started' });
    reply.commit();
  }

  #createReply(said: Words, marks: TurnMarks, spoken: boolean, outcome?: ToolOutcome): Reply {
    const { history, ...deps } = this.#deps;
    // Nobody waited for a late result, so it says nothing about response times.
    const answered = outcome === undefined ? deps.answered : () => undefined;
    const given = { ...said, outcome, spoken, marks, messages: history.messages };
    return new Reply({ ...deps, ...given, answered, over: (reply) => this.#finishReply(reply) });
  }

  #finishReply(reply: Reply): void {
    if (replyOf(this.#state) !== reply) return;
    const { history, player } = this.#deps;
    this.#dispatch({ type: 'reply-finished' });
    history.add(reply.conclusion());
    this.#lateResults.finish(reply);
    if (this.#unanswered.text === '') this.#announceNextResult();
    // Where it has just been heard, the player reports that it is idle next.
    if (player.idle && !player.speaking && replyOf(this.#state) === undefined) this.#endBotTurn();
  }

  /** Answers what waited for it. The caller may be in the middle of something. */
  #endBotTurn(): void {
    const { input, player, backchannel, clock } = this.#deps;
    const [userTurn, hadTurn, words] = [userTurnOf(this.#state), botHasTurn(this.#state), this.#unanswered];
    this.#dispatch({ type: 'bot-turn-finished' });
    player.resume();
    if (hadTurn && words.text !== '') {
      this.#unanswered = nothing;
      this.#answer(words, new TurnMarks(clock.now, 0), true);
    }
    if (userTurn === undefined || !input.active) this.#farewell.hangUpIf(this.#state.name === 'idle');
    backchannel.onBotTurnFinished();
    if (userTurn !== undefined && input.active)
      this.#dispatch({ type: input.speaking ? 'user-speaking' : 'user-silent', userTurn });
  }

  #transcribe(text: string, final: boolean): void {
    const { send, persona } = this.#deps;
    const data = { text, final, timestamp: new Date().toISOString(), user_id: persona.user.id };
    if (text !== '') send({ type: 'user-transcription', data });
  }
}
