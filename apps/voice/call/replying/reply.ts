import type { Logger } from '@trunkline/config';
import type { TurnEvent } from '@trunkline/loop';
import type { Clock } from '@trunkline/schedule';
import type { ToolOutcome } from '../../delivery/delivery.ts';
import type { TurnMarks } from '../../metrics/latency.ts';
import type { Persona } from '../../turn/persona.ts';
import { type ModelMessage, type ModelMessages, runPersona } from '../../turn/run-persona.ts';
import { Alarm } from '../clock.ts';
import type { Outgoing } from '../rtvi.ts';
import { type Clause, ClauseSplitter, wordsOfShare } from '../speaking/clauses.ts';
import type { Fillers } from '../speaking/fillers.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { isSayable, spokenText } from '../speaking/spoken-text.ts';
import type { Utterance, UtterancePlayout } from '../speaking/utterance.ts';
import { outcomeMessages, ReplyTranscript } from './reply-transcript.ts';
import { stillRunning, type ToolRuns } from './tool-runs.ts';

export interface ReplyDeps {
  persona: Persona;
  /** The conversation before. */
  messages: ModelMessages;
  /** What is answered; empty where `outcome` is told. */
  text: string;
  /** The result of a tool that is told instead of an answer. */
  outcome?: ToolOutcome | undefined;
  /** Runs the tools that may change something. */
  runs: ToolRuns;
  sessionId: string;
  /** False: the answer is only written. */
  spoken: boolean;
  marks: TurnMarks;
  player: SpeechPlayer;
  fillers: Fillers;
  clock: Clock;
  logger: Logger;
  send(message: Outgoing): void;
  /** Its first sound was sent. */
  answered(marks: TurnMarks): void;
  /** The answer was made and heard, or is given up by itself. */
  over(reply: Reply): void;
}

const thinkingLimitMs = 30_000;
const longestShown = 2000; // Characters of a tool's result that the page is shown.
const apologies = {
  failed: 'Sorry, something went wrong on my side. Please try again.',
  stuck: 'Sorry, I got stuck on that. Please ask me again.',
  empty: 'Sorry, I have no answer to that.',
};

/** One answer, from the first token to the last sound. As a draft it is prepared, but neither heard nor acted upon. */
export class Reply {
  readonly text: string;
  readonly marks: TurnMarks;
  readonly #deps: ReplyDeps;
  readonly #controller = new AbortController();
  readonly #certain = Promise.withResolvers<void>();
  readonly #transcript = new ReplyTranscript();
  readonly #splitter = new ClauseSplitter();
  readonly #watchdog: Alarm;
  /** What a draft keeps back until it counts. */
  #kept: (() => void)[] = [];
  #prepared: UtterancePlayout | undefined;
  #draft = true;
  #abandoned = false;
  #made = false;
  #toldOver = false;
  #open = 0;
  /** Whether any sound of it was sent. */
  #begun = false;
  /** How much of the text was heard. */
  #heard = 0;
  #running = 0;
  /** What the model is to answer. */
  readonly #question: readonly ModelMessage[];

  constructor(deps: ReplyDeps) {
    this.#deps = deps;
    const { text: content, outcome } = deps;
    this.#question = outcome === undefined ? [{ role: 'user', content }] : outcomeMessages(outcome);
    this.text = deps.text;
    this.marks = deps.marks;
    this.#watchdog = new Alarm(deps.clock);
    void this.#run();
  }

  /** The turn is certain: what was prepared is said, and tools may act. */
  confirm(): void {
    this.#draft = false;
    this.#certain.resolve();
    if (this.#deps.outcome === undefined) this.#deps.fillers.turnBegan();
    this.#watch();
    this.#deps.send({ type: 'bot-llm-started' });
    for (const act of this.#kept) act();
    this.#kept = [];
  }

  /** Stops at once. What was heard until now stays heard. */
  abandon(): void {
    if (this.#abandoned) return;
    this.#abandoned = true;
    this.#controller.abort();
    this.#watchdog.cancel();
    this.#kept = [];
    // What is more than a draft is the player's to cut, which knows how much of it was heard.
    if (this.#draft) {
      this.#prepared?.cancel();
      return;
    }
    this.#deps.fillers.stop();
    for (const call of this.#transcript.openCalls)
      this.#deps.send({
        type: 'llm-function-call-stopped',
        data: callData(call, { result: call.goesOn ? stillRunning : '', cancelled: !call.goesOn }),
      });
  }

  /** Whether the user heard any of it, or got the result of a tool. */
  get wasHeard(): boolean {
    return this.#begun || this.#heard > 0 || this.#transcript.hasResults;
  }

  /** Whether it belongs to the conversation: it was heard, or a tool has begun that may change something. */
  get hasEffect(): boolean {
    return this.wasHeard || this.#transcript.hasStarted;
  }

  /** Question and answer as the conversation keeps them: nothing that was not heard. */
  conclusion(): ModelMessage[] {
    if (!this.hasEffect) return [];
    return [...this.#question, ...this.#transcript.messages(this.#heard)];
  }

  async #run(): Promise<void> {
    const { persona, messages, sessionId, runs, logger } = this.#deps;
    const turn = {
      messages: [...messages, ...this.#question],
      sessionId,
      signal: this.#controller.signal,
      tools: persona.tools.map((tool) =>
        runs.wrap(tool, {
          userId: persona.user.id,
          certain: this.#certain.promise,
          started: (toolCallId) => this.#transcript.markStarted(toolCallId),
        }),
      ),
    };
    try {
      for await (const event of runPersona(persona, turn)) if (!this.#abandoned) this.#take(event);
    } catch (error) {
      logger.error({ err: error }, 'a spoken turn failed');
      if (!this.#abandoned) this.#apologise('failed');
    }
    this.#finish();
  }

  #take(event: TurnEvent): void {
    if (event.type === 'text-delta') this.#addText(event.text);
    else this.#later(() => this.#act(event));
  }

  /** Now, or when the draft is confirmed. */
  #later(act: () => void): void {
    if (this.#draft) this.#kept.push(act);
    else act();
  }

  #addText(text: string): void {
    this.marks.note('first_token_ms');
    this.#transcript.addText(text);
    const clauses = this.#splitter.push(text);
    this.#later(() => {
      this.#watch();
      this.#deps.fillers.textCame();
      this.#deps.send({ type: 'bot-llm-text', data: { text } });
    });
    for (const clause of clauses) this.#sayClause(clause);
  }

  #act(event: TurnEvent): void {
    const { send, fillers } = this.#deps;
    this.#watch();
    switch (event.type) {
      case 'tool-start':
        this.#running += 1;
        this.#watch();
        this.#transcript.addCall(event.toolCallId, event.name, event.input);
        this.#sayRest();
        fillers.toolStarted(event.toolCallId);
        send({ type: 'llm-function-call-started', data: callData(event, { arguments: event.input }) });
        return;
      case 'tool-end':
        this.#running -= 1;
        this.#watch();
        this.#transcript.addResult(event.toolCallId, event.result);
        fillers.toolEnded(event.toolCallId);
        send({
          type: 'llm-function-call-stopped',
          data: callData(event, { result: event.result.slice(0, longestShown), cancelled: false }),
        });
        return;
      case 'end':
        this.#sayRest();
        if (this.#transcript.text.trim() === '') this.#apologise('empty');
        return;
      case 'error':
        if (event.code === 'aborted') return;
        this.#sayRest();
        send({ type: 'error', data: { message: event.message, fatal: false } });
        this.#apologise('failed');
        return;
      default:
    }
  }

  #sayRest(): void {
    for (const clause of this.#splitter.flush()) this.#sayClause(clause);
  }

  #sayClause({ text, start, end }: Clause): void {
    const spoken = spokenText(text);
    if (this.#deps.spoken && isSayable(spoken)) this.#sayAloud({ text, start, end }, spoken);
    else this.#later(() => this.#hear(end));
  }

  #sayAloud({ text, start, end }: Clause, spoken: string): void {
    const saying: Utterance = {
      text: spoken,
      voiced: () => this.marks.note('first_speech_ms'),
      begun: () => this.#begin(),
      heard: () => this.#closeOne(end),
      failed: () => this.#closeOne(end),
      // What never began says nothing about what stands before it.
      cut: (share) => this.#closeOne(share === 0 ? 0 : start + wordsOfShare(text, share)),
    };
    this.#open += 1;
    const prepared =
      this.#draft && this.#prepared === undefined ? this.#deps.player.prepare(saying) : undefined;
    this.#prepared ??= prepared;
    this.#later(() => this.#deps.player.say(prepared ?? saying));
  }

  #begin(): void {
    if (!this.#begun) {
      this.marks.note('first_packet_ms');
      this.#deps.answered(this.marks);
    }
    this.#begun = true;
  }

  #hear(end: number): void {
    this.#heard = Math.max(this.#heard, end);
  }

  #closeOne(end: number): void {
    this.#open -= 1;
    this.#hear(end);
    this.#tellOver();
  }

  #apologise(kind: keyof typeof apologies): void {
    // Nobody has just asked for a result that is told late: it stays for another time.
    if (this.#deps.outcome !== undefined) return;
    this.#begun = true;
    this.#deps.fillers.stop();
    this.#deps.player.say({ text: apologies[kind], phrase: true });
  }

  /** No answer may hang: without a sign of life for too long it is given up, unless a tool is at work. */
  #watch(): void {
    this.#watchdog.cancel();
    if (this.#running > 0 || this.#made || this.#abandoned) return;
    this.#watchdog.set(thinkingLimitMs, () => {
      this.#controller.abort();
      this.#apologise('stuck');
      this.#finish();
    });
  }

  #finish(): void {
    if (this.#made) return;
    this.#made = true;
    this.#later(() => {
      this.#watchdog.cancel();
      this.#deps.fillers.stop();
      if (!this.#abandoned) this.#deps.send({ type: 'bot-llm-stopped' });
      this.#tellOver();
    });
  }

  #tellOver(): void {
    if (!this.#made || this.#open > 0 || this.#abandoned || this.#toldOver || this.#draft) return;
    this.#toldOver = true;
    this.#deps.over(this);
  }
}

function callData<More extends object>(event: { toolCallId: string; name: string }, more: More) {
  return { tool_call_id: event.toolCallId, function_name: event.name, ...more };
}
