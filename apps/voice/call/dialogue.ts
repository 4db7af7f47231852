import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { ToolOutcome } from '../delivery/delivery.ts';
import { TurnMarks } from '../metrics/latency.ts';
import type { Persona } from '../turn/persona.ts';
import { Alarm } from './clock.ts';
import type { Courtesies } from './courtesies.ts';
import type { Listener } from './listening/listener.ts';
import type { Outgoing } from './messenger.ts';
import type { OwnWords } from './own-words.ts';
import { Drafts } from './replying/drafts.ts';
import type { History } from './replying/history.ts';
import { Outcomes } from './replying/outcomes.ts';
import { Reply } from './replying/reply.ts';
import type { ToolRuns } from './replying/tool-runs.ts';
import type { Fillers } from './speaking/fillers.ts';
import type { Mouth } from './speaking/mouth.ts';
import type { Pace } from './turns/pace.ts';
import { Patience } from './turns/patience.ts';
import { heldForMs, isLikelyWhole, judgeOverlap, silenceNeeded } from './turns/turn-rule.ts';
import { isMurmur, joined, wordsIn } from './turns/words.ts';

export interface DialogueParts {
  sessionId: string;
  persona: Persona;
  listener: Listener;
  mouth: Mouth;
  fillers: Fillers;
  courtesies: Courtesies;
  history: History;
  runs: ToolRuns;
  pace: Pace;
  own: OwnWords;
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

/** Whose turn it is, and what becomes of it: what the listener hears comes in, what the mouth says goes out. */
export class Dialogue {
  readonly #parts: DialogueParts;
  readonly #held: Alarm;
  readonly #drafts = new Drafts();
  readonly #patience: Patience;
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

  constructor(parts: DialogueParts) {
    this.#parts = parts;
    this.#held = new Alarm(parts.clock);
    this.#patience = new Patience(parts);
    this.#quietSince = parts.clock.now();
  }

  /** How long nobody has spoken and nothing is under way. */
  get quietMs(): number {
    const { listener, mouth, clock } = this.#parts;
    if (listener.active || !mouth.idle || this.#reply !== undefined) this.#quietSince = clock.now();
    return clock.now() - this.#quietSince;
  }

  get #botHasTurn(): boolean {
    const { mouth, courtesies } = this.#parts;
    return this.#reply !== undefined || (!mouth.idle && !courtesies.murmuring);
  }

  speechStarted(): void {
    const { mouth, clock, listener, own } = this.#parts;
    this.#drafts.drop();
    this.#transcribedAt = undefined;
    this.#beganAt = clock.now() - listener.speechMs;
    own.speechStarted();
    // Nobody notices that a voice waits which has not begun.
    if (this.#reply !== undefined && !mouth.speaking) this.#hold();
  }

  understood(text: string): void {
    const { listener, clock, own } = this.#parts;
    if (listener.whole !== undefined) this.#transcribedAt ??= clock.now();
    if (this.#userHasFloor && !this.#botHasTurn) this.#transcribe(own.in(text), false);
    this.progressed();
  }

  progressed(): void {
    const { listener } = this.#parts;
    if (!listener.active) return;
    this.#patience.pass(listener.speaking);
    if (!listener.text && this.#patience.isWordless(listener.totalSpeechMs)) this.#giveUpListening();
    else if (this.#botHasTurn) this.#judgeOverlap();
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
    this.#answer(text, new TurnMarks(this.#parts.clock.now, 0), spoken);
  }

  /** Has the model tell the result of a tool that nobody waited for; then says whether any of it was heard. */
  tell(outcome: ToolOutcome, done: (heard: boolean) => void): void {
    this.#outcomes.add(outcome, done);
    if (this.#reply === undefined) this.#tellNext();
  }

  #tellNext(): void {
    const marks = new TurnMarks(this.#parts.clock.now, 0);
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
    this.#parts.send({ type: 'user-started-speaking' });
  }

  #judgeOverlap(): void {
    const { listener, mouth, persona, own } = this.#parts;
    const over = !listener.speaking && listener.whole !== undefined;
    const echo = own.isEcho;
    // Too early to tell whose voice it is.
    if (echo === undefined && !over) return;
    const words = listener.text ? own.in(listener.text) : over ? '' : undefined;
    const verdict = judgeOverlap({ speechMs: listener.totalSpeechMs, words, over, echo: echo ?? false });
    const mayInterrupt = persona.skill.behavior.bargein !== false || !mouth.speaking;
    if (verdict === 'yield' && mayInterrupt) this.#interrupt();
    else if (verdict === 'hold' && mayInterrupt && !this.#passed) this.#hold();
    else if (verdict === 'ignore' || over) this.#letPass(over);
  }

  #hold(): void {
    if (this.#held.isSet) return;
    this.#parts.mouth.hold();
    this.#held.set(heldForMs, () => this.#letPass(false));
  }

  /** It was no interruption: what was being said goes on. */
  #letPass(over: boolean): void {
    this.#passed = true;
    this.#held.cancel();
    this.#parts.mouth.resume();
    if (over) this.#endUtterance();
  }

  #interrupt(): void {
    const { listener, pace, own } = this.#parts;
    if (this.#reply?.wasHeard === false) pace.noteCutOff(this.#beganAt - this.#fellSilentAt);
    own.interrupted();
    this.#yield();
    this.#takeFloor();
    if (!listener.speaking) this.#judgePause();
  }

  /** Gives up the turn at once; what was not heard was not said. */
  #yield(): void {
    const { mouth, history, send } = this.#parts;
    this.#held.cancel();
    this.#drafts.drop();
    const spoke = mouth.speaking;
    const reply = this.#reply;
    this.#reply = undefined;
    reply?.abandon();
    mouth.cut();
    if (reply?.hasEffect === false) this.#unanswered = joined(reply.text, this.#unanswered);
    history.add(reply?.conclusion() ?? []);
    this.#outcomes.interrupted();
    if (spoke || reply !== undefined) send({ type: 'bot-interrupted' });
  }

  #judgePause(): void {
    const { listener, pace, courtesies, own } = this.#parts;
    const text = listener.whole === undefined ? undefined : own.in(listener.whole);
    const pause = { text, tone: listener.tone, usualPauseMs: pace.usualPauseMs, finished: listener.finished };
    const isOver = text === undefined ? this.#patience.isOver : listener.silenceMs >= silenceNeeded(pause);
    if (isOver) this.#endTurn(text ?? listener.text ?? '');
    else if (text === undefined) return;
    else if (isLikelyWhole(pause) && wordsIn(text).length > 0) this.#prepare(text);
    else courtesies.murmur(listener.totalSpeechMs, listener.silenceMs);
  }

  /** Begins an answer that may turn out not to be wanted. */
  #prepare(text: string): void {
    const whole = joined(this.#unanswered, text);
    this.#drafts.begin(whole, () => this.#createReply(whole, this.#startMarks(), true));
  }

  #endTurn(text: string): void {
    const { listener, courtesies, clock, own } = this.#parts;
    const marks = this.#drafts.current?.marks ?? this.#startMarks();
    marks.note('end_of_utterance_ms');
    this.#fellSilentAt = clock.now() - listener.silenceMs;
    const [speechMs, passed, tail] = [listener.totalSpeechMs, this.#passed, own.isTail(this.#fellSilentAt)];
    this.#endUtterance();
    const understood = wordsIn(text).length > 0;
    // Murmurs and noise from the time when the other side spoke need no answer.
    if (understood && !tail && !(passed && isMurmur(text))) this.#answer(text, marks, true);
    else this.#drafts.drop();
    if (!understood && !passed) courtesies.puzzle(speechMs);
  }

  #giveUpListening(): void {
    this.#drafts.drop();
    this.#held.cancel();
    this.#parts.mouth.resume();
    this.#endUtterance();
  }

  #endUtterance(): void {
    const { listener, own, send, clock } = this.#parts;
    listener.reset();
    own.reset();
    this.#quietSince = clock.now();
    this.#patience.renew();
    this.#passed = false;
    this.#drafts.renew();
    if (this.#userHasFloor) send({ type: 'user-stopped-speaking' });
    this.#userHasFloor = false;
  }

  #answer(text: string, marks: TurnMarks, spoken: boolean): void {
    this.#transcribe(text, true);
    this.#parts.courtesies.understood();
    if (this.#parts.intercept(text)) this.#drafts.drop();
    else this.#beginReply(text, marks, spoken);
  }

  #beginReply(text: string, marks: TurnMarks, spoken: boolean): void {
    const whole = joined(this.#unanswered, text);
    this.#unanswered = '';
    this.#reply = this.#drafts.take(whole) ?? this.#createReply(whole, marks, spoken);
    this.#reply.confirm();
  }

  #createReply(text: string, marks: TurnMarks, spoken: boolean, outcome?: ToolOutcome): Reply {
    const { history, ...parts } = this.#parts;
    const over = (reply: Reply) => this.#over(reply);
    // Nobody waited for a result that is told late, so it says nothing about the time of answers.
    const answered = outcome === undefined ? parts.answered : () => undefined;
    return new Reply({ ...parts, text, outcome, marks, spoken, messages: history.messages, over, answered });
  }

  #over(reply: Reply): void {
    if (this.#reply !== reply) return;
    const { history, clock } = this.#parts;
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
    const { clock, listener } = this.#parts;
    const marks = new TurnMarks(clock.now, listener.silenceMs);
    marks.note('transcript_ms', this.#transcribedAt);
    return marks;
  }

  #transcribe(text: string, final: boolean): void {
    const { send, persona } = this.#parts;
    const timestamp = new Date().toISOString();
    const data = { text, final, timestamp, user_id: persona.user.id };
    if (text !== '') send({ type: 'user-transcription', data });
  }
}
