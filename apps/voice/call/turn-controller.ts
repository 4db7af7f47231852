import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { ToolOutcome } from '../delivery/delivery.ts';
import { TurnMarks } from '../metrics/latency.ts';
import type { Persona } from '../turn/persona.ts';
import { Alarm } from './clock.ts';
import type { SpeechInput } from './listening/speech-input.ts';
import type { History } from './replying/history.ts';
import { Outcomes } from './replying/outcomes.ts';
import { PreemptiveGeneration } from './replying/preemptive-generation.ts';
import { Reply } from './replying/reply.ts';
import type { ToolRuns } from './replying/tool-runs.ts';
import type { Outgoing } from './rtvi.ts';
import type { Fillers } from './speaking/fillers.ts';
import type { SpeechPlayer } from './speaking/speech-player.ts';
import type { Backchannel } from './turns/backchannel.ts';
import type { EchoFilter } from './turns/echo-filter.ts';
import {
  endpointingDelay,
  falseInterruptionTimeoutMs,
  isLikelyEndOfTurn,
  judgeInterruption,
} from './turns/endpointing.ts';
import type { SpeakingRate } from './turns/speaking-rate.ts';
import { TranscriptTimeout } from './turns/transcript-timeout.ts';
import { isBackchannel, joined, wordsIn } from './turns/words.ts';

export interface TurnControllerDeps {
  sessionId: string;
  persona: Persona;
  listener: SpeechInput;
  player: SpeechPlayer;
  fillers: Fillers;
  backchannel: Backchannel;
  history: History;
  runs: ToolRuns;
  speakingRate: SpeakingRate;
  own: EchoFilter;
  /** The models that listen are not there yet: words come later. */
  isLoading(): boolean;
  clock: Clock;
  logger: Logger;
  send(message: Outgoing): void;
  /** Whether the words are dealt with elsewhere. */
  intercept(text: string): boolean;
  /** The first sound of an answer was sent. */
  answered(marks: TurnMarks): void;
}

/** Whose turn it is, and what becomes of it: what the listener hears comes in, what the player says goes out. */
export class TurnController {
  readonly #deps: TurnControllerDeps;
  readonly #held: Alarm;
  readonly #preemptive = new PreemptiveGeneration();
  readonly #transcriptTimeout: TranscriptTimeout;
  #reply: Reply | undefined;
  readonly #outcomes = new Outcomes();
  /** What was said before and got no answer, because the speaker went on. */
  #unanswered = '';
  #userHasFloor = false;
  /** The sound of this utterance has proven to be no interruption so far. */
  #passed = false;
  #transcribedAt: number | undefined;
  /** When the caller last fell silent, and when they began again. */
  #fellSilentAt = -Infinity;
  #beganAt = 0;
  #quietSince: number;

  constructor(deps: TurnControllerDeps) {
    this.#deps = deps;
    this.#held = new Alarm(deps.clock);
    this.#transcriptTimeout = new TranscriptTimeout(deps);
    this.#quietSince = deps.clock.now();
  }

  /** How long nobody has spoken and nothing is under way. */
  get quietMs(): number {
    const { listener, player, clock } = this.#deps;
    if (listener.active || !player.idle || this.#reply !== undefined) this.#quietSince = clock.now();
    return clock.now() - this.#quietSince;
  }

  get #botHasTurn(): boolean {
    const { player, backchannel } = this.#deps;
    return this.#reply !== undefined || (!player.idle && !backchannel.murmuring);
  }

  speechStarted(): void {
    const { player, clock, listener, own } = this.#deps;
    this.#preemptive.drop();
    this.#transcribedAt = undefined;
    this.#beganAt = clock.now() - listener.speechMs;
    own.speechStarted();
    // Nobody notices that a voice waits which has not begun.
    if (this.#reply !== undefined && !player.speaking) this.#hold();
  }

  understood(text: string): void {
    const { listener, clock, own } = this.#deps;
    if (listener.whole !== undefined) this.#transcribedAt ??= clock.now();
    if (this.#userHasFloor && !this.#botHasTurn) this.#transcribe(own.in(text), false);
    this.progressed();
  }

  progressed(): void {
    const { listener } = this.#deps;
    if (!listener.active) return;
    this.#transcriptTimeout.pass(listener.speaking);
    if (!listener.text && this.#transcriptTimeout.isWordless(listener.totalSpeechMs)) this.#giveUpListening();
    else if (this.#botHasTurn) this.#judgeInterruption();
    else {
      if (!this.#passed) this.#takeFloor();
      if (!listener.speaking) this.#judgePause();
    }
  }

  /** Something written instead of said. */
  write(text: string, { interrupts, spoken }: { interrupts: boolean; spoken: boolean }): void {
    if (this.#botHasTurn && !interrupts) {
      this.#unanswered = joined(this.#unanswered, text);
      return;
    }
    this.#yield();
    this.#endUtterance();
    this.#answer(text, new TurnMarks(this.#deps.clock.now, 0), spoken);
  }

  /** Has the model tell the result of a tool that nobody waited for; then says whether any of it was heard. */
  tell(outcome: ToolOutcome, done: (heard: boolean) => void): void {
    this.#outcomes.add(outcome, done);
    if (this.#reply === undefined) this.#tellNext();
  }

  #tellNext(): void {
    const marks = new TurnMarks(this.#deps.clock.now, 0);
    this.#reply = this.#outcomes.next((outcome) => this.#createReply('', marks, true, outcome));
    this.#reply?.confirm();
  }

  /** The caller is gone. */
  close(): void {
    this.#yield();
    this.#endUtterance();
  }

  #takeFloor(): void {
    if (this.#userHasFloor) return;
    this.#userHasFloor = true;
    this.#deps.send({ type: 'user-started-speaking' });
  }

  #judgeInterruption(): void {
    const { listener, player, persona, own } = this.#deps;
    const over = !listener.speaking && listener.whole !== undefined;
    const echo = own.isEcho;
    // Too early to tell whose voice it is.
    if (echo === undefined && !over) return;
    const words = listener.text ? own.in(listener.text) : over ? '' : undefined;
    const verdict = judgeInterruption({ speechMs: listener.totalSpeechMs, words, over, echo: echo ?? false });
    const mayInterrupt = persona.skill.behavior.bargein !== false || !player.speaking;
    if (verdict === 'yield' && mayInterrupt) this.#interrupt();
    else if (verdict === 'hold' && mayInterrupt && !this.#passed) this.#hold();
    else if (verdict === 'ignore' || over) this.#letPass(over);
  }

  #hold(): void {
    if (this.#held.isSet) return;
    this.#deps.player.hold();
    this.#held.set(falseInterruptionTimeoutMs, () => this.#letPass(false));
  }

  /** It was no interruption: what was being said goes on. */
  #letPass(over: boolean): void {
    this.#passed = true;
    this.#held.cancel();
    this.#deps.player.resume();
    if (over) this.#endUtterance();
  }

  #interrupt(): void {
    const { listener, speakingRate, own } = this.#deps;
    if (this.#reply?.wasHeard === false) speakingRate.noteFalseEndpoint(this.#beganAt - this.#fellSilentAt);
    own.interrupted();
    this.#yield();
    this.#takeFloor();
    if (!listener.speaking) this.#judgePause();
  }

  /** Gives up the turn at once; what was not heard was not said. */
  #yield(): void {
    const { player, history, send } = this.#deps;
    this.#held.cancel();
    this.#preemptive.drop();
    const spoke = player.speaking;
    const reply = this.#reply;
    this.#reply = undefined;
    reply?.abandon();
    player.cut();
    if (reply?.hasEffect === false) this.#unanswered = joined(reply.text, this.#unanswered);
    history.add(reply?.conclusion() ?? []);
    this.#outcomes.interrupted();
    if (spoke || reply !== undefined) send({ type: 'bot-interrupted' });
  }

  #judgePause(): void {
    const { listener, speakingRate, backchannel, own } = this.#deps;
    const text = listener.whole === undefined ? undefined : own.in(listener.whole);
    const pause = {
      text,
      tone: listener.tone,
      usualPauseMs: speakingRate.usualPauseMs,
      finished: listener.finished,
    };
    const isOver =
      text === undefined ? this.#transcriptTimeout.isOver : listener.silenceMs >= endpointingDelay(pause);
    if (isOver) this.#endTurn(text ?? listener.text ?? '');
    else if (text === undefined) return;
    else if (isLikelyEndOfTurn(pause) && wordsIn(text).length > 0) this.#prepare(text);
    else backchannel.murmur(listener.totalSpeechMs, listener.silenceMs);
  }

  /** Begins an answer that may turn out not to be wanted. */
  #prepare(text: string): void {
    const whole = joined(this.#unanswered, text);
    this.#preemptive.begin(whole, () => this.#createReply(whole, this.#startMarks(), true));
  }

  #endTurn(text: string): void {
    const { listener, backchannel, clock, own } = this.#deps;
    const marks = this.#preemptive.current?.marks ?? this.#startMarks();
    marks.note('end_of_utterance_ms');
    this.#fellSilentAt = clock.now() - listener.silenceMs;
    const [speechMs, passed, tail] = [listener.totalSpeechMs, this.#passed, own.isTail(this.#fellSilentAt)];
    this.#endUtterance();
    const understood = wordsIn(text).length > 0;
    // Murmurs and noise from the time when the other side spoke need no answer.
    if (understood && !tail && !(passed && isBackchannel(text))) this.#answer(text, marks, true);
    else this.#preemptive.drop();
    if (!understood && !passed) backchannel.puzzle(speechMs);
  }

  #giveUpListening(): void {
    this.#preemptive.drop();
    this.#held.cancel();
    this.#deps.player.resume();
    this.#endUtterance();
  }

  #endUtterance(): void {
    const { listener, own, send, clock } = this.#deps;
    listener.reset();
    own.reset();
    this.#quietSince = clock.now();
    this.#transcriptTimeout.renew();
    this.#passed = false;
    this.#preemptive.renew();
    if (this.#userHasFloor) send({ type: 'user-stopped-speaking' });
    this.#userHasFloor = false;
  }

  #answer(text: string, marks: TurnMarks, spoken: boolean): void {
    this.#transcribe(text, true);
    this.#deps.backchannel.understood();
    if (this.#deps.intercept(text)) this.#preemptive.drop();
    else this.#beginReply(text, marks, spoken);
  }

  #beginReply(text: string, marks: TurnMarks, spoken: boolean): void {
    const whole = joined(this.#unanswered, text);
    this.#unanswered = '';
    this.#reply = this.#preemptive.take(whole) ?? this.#createReply(whole, marks, spoken);
    this.#reply.confirm();
  }

  #createReply(text: string, marks: TurnMarks, spoken: boolean, outcome?: ToolOutcome): Reply {
    const { history, ...deps } = this.#deps;
    const over = (reply: Reply) => this.#over(reply);
    // Nobody waited for a result that is told late, so it says nothing about the time of answers.
    const answered = outcome === undefined ? deps.answered : () => undefined;
    return new Reply({ ...deps, text, outcome, marks, spoken, messages: history.messages, over, answered });
  }

  #over(reply: Reply): void {
    if (this.#reply !== reply) return;
    const { history, clock } = this.#deps;
    this.#reply = undefined;
    this.#quietSince = clock.now();
    history.add(reply.conclusion());
    this.#outcomes.over(reply);
    // What was written while the answer was under way.
    const text = this.#unanswered;
    this.#unanswered = '';
    if (text !== '') this.#answer(text, new TurnMarks(clock.now, 0), true);
    else this.#tellNext();
  }

  #startMarks(): TurnMarks {
    const { clock, listener } = this.#deps;
    const marks = new TurnMarks(clock.now, listener.silenceMs);
    marks.note('transcript_ms', this.#transcribedAt);
    return marks;
  }

  #transcribe(text: string, final: boolean): void {
    const { send, persona } = this.#deps;
    const timestamp = new Date().toISOString();
    const data = { text, final, timestamp, user_id: persona.user.id };
    if (text !== '') send({ type: 'user-transcription', data });
  }
}
