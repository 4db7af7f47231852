import type { Logger } from '@trunkline/config';
import { interruptionOf, type Tool } from '@trunkline/llm';
import { compactionNote, type TurnEvent } from '@trunkline/loop';
import type { Clock } from '@trunkline/schedule';
import type { ToolOutcome } from '../../delivery/delivery.ts';
import type { Language } from '../../languages/languages.ts';
import type { TurnMarks } from '../../metrics/metrics.ts';
import { type ModelMessage, type ModelMessages, type Persona, runPersona } from '../../turn/persona.ts';
import { Alarm } from '../clock.ts';
import type { Outgoing } from '../line.ts';
import type { Fillers } from '../speaking/fillers.ts';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import {
  type Clause,
  ClauseSplitter,
  isSayable,
  lengthOfShare,
  spokenText,
} from '../speaking/speech-text.ts';
import type { Utterance, UtterancePlayout } from '../speaking/utterance.ts';
import { outcomeMessages, ReplyTranscript } from './reply-transcript.ts';
import { stillRunning, type ToolRuns } from './tool-runs.ts';

export interface ReplyDeps {
  persona: Persona;
  language(): Language;
  /** The conversation before. */
  messages: ModelMessages;
  /** What the caller said; empty where `outcome` is announced. */
  text: string;
  /** A tool's late result, announced instead of an answer. */
  outcome?: ToolOutcome | undefined;
  /** Runs the tools that may change something. */
  runs: ToolRuns;
  sessionId: string;
  /** When the caller began to say it. */
  saidAt: number;
  /** False: the answer is only written. */
  spoken: boolean;
  marks: TurnMarks;
  player: SpeechPlayer;
  fillers: Fillers;
  clock: Clock;
  logger: Logger;
  send(message: Outgoing): void;
  /** Called when its first sound was sent. */
  answered(marks: TurnMarks): void;
  /** Called when it was generated and heard, or gave up by itself. */
  over(reply: Reply): void;
}

const thinkingLimitMs = 30_000;
/** Characters of a tool's result that the page is sent. */
const longestShown = 2000;

/**
 * One answer, from the first token to the last sound. While preemptive it is generated, but nothing is heard of it and
 * no tool runs.
 */
export class Reply {
  readonly text: string;
  readonly saidAt: number;
  readonly marks: TurnMarks;
  readonly #deps: ReplyDeps;
  readonly #controller = new AbortController();
  readonly #committed = Promise.withResolvers<void>();
  readonly #transcript = new ReplyTranscript();
  readonly #splitter: ClauseSplitter;
  readonly #watchdog: Alarm;
  #phase: 'preemptive' | 'committed' | 'finished' | 'abandoned' = 'preemptive';
  /** What waits for `commit`. */
  #deferred: (() => void)[] = [];
  /** The first utterance, from when its words are likely until it is said. */
  #prepared: UtterancePlayout | undefined;
  #isFirst = true;
  /** The model has ended. */
  #generated = false;
  #openUtterances = 0;
  /** Some sound of it was sent. */
  #started = false;
  /** Characters of the text that were heard. */
  #heard = 0;
  #runningTools = 0;
  /** What the model is to answer. */
  readonly #question: readonly ModelMessage[];

  constructor(deps: ReplyDeps) {
    this.#deps = deps;
    const { text: content, outcome } = deps;
    this.#question = outcome === undefined ? [{ role: 'user', content }] : outcomeMessages(outcome);
    this.text = deps.text;
    this.saidAt = deps.saidAt;
    this.marks = deps.marks;
    this.#watchdog = new Alarm(deps.clock);
    const isReady = (clause: string) => deps.player.isReady(spokenText(clause, deps.language()));
    this.#splitter = new ClauseSplitter({ startsEarly: true, isReady });
    void this.#run();
  }

  /** The caller's turn has ended: the reply is spoken, and tools may run. */
  commit(): void {
    this.#phase = 'committed';
    this.#committed.resolve();
    if (this.#deps.outcome === undefined) this.#deps.fillers.onTurnStarted();
    this.#watch();
    this.#deps.send({ type: 'bot-llm-started' });
    for (const act of this.#deferred) act();
    this.#deferred = [];
  }

  /** Stops at once. What was heard stays in the conversation. */
  abandon(): void {
    if (this.#phase === 'abandoned') return;
    const wasPreemptive = this.#phase === 'preemptive';
    this.#phase = 'abandoned';
    this.#controller.abort();
    this.#watchdog.cancel();
    this.#deferred = [];
    // What is queued is the player's to cut, which knows how much of it was heard.
    this.#prepared?.cancel();
    if (wasPreemptive) return;
    this.#deps.fillers.stop();
    for (const call of this.#transcript.openCalls)
      this.#deps.send({
        type: 'llm-function-call-stopped',
        data: callData(call, { result: call.goesOn ? stillRunning : '', cancelled: !call.goesOn }),
      });
  }

  /** More of it may follow. */
  get isGenerating(): boolean {
    return !this.#generated;
  }

  /** A tool runs that no interruption may disturb. */
  get holdsFloor(): boolean {
    const { tools } = this.#deps.persona;
    const isHeld = (tool: Tool) => !tool.pause && interruptionOf(tool) === 'hold';
    return this.#transcript.openCalls.some(({ name }) =>
      tools.some((tool) => tool.name === name && isHeld(tool)),
    );
  }

  /** Whether the caller heard any of it, or a tool gave its result. */
  get wasHeard(): boolean {
    return this.#started || this.#heard > 0 || this.#transcript.hasResults;
  }

  /** Whether it belongs to the conversation: it was heard, or a tool was started that may change something. */
  get hasEffect(): boolean {
    return this.wasHeard || this.#transcript.hasStarted;
  }

  /** Question and answer for the history: nothing that was not heard. */
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
          saidAt: this.saidAt,
          committed: this.#committed.promise,
          started: (toolCallId) => this.#transcript.markStarted(toolCallId),
        }),
      ),
    };
    try {
      for await (const event of runPersona(persona, turn)) if (this.#phase !== 'abandoned') this.#take(event);
    } catch (error) {
      logger.error({ err: error }, 'spoken turn failed');
      if (this.#phase !== 'abandoned') this.#apologise('failed');
    }
    this.#endGeneration();
  }

  #take(event: TurnEvent): void {
    if (event.type === 'text-delta') this.#addText(event.text);
    else this.#onceCommitted(() => this.#act(event));
  }

  /** Runs now, or on `commit`. */
  #onceCommitted(act: () => void): void {
    if (this.#phase === 'preemptive') this.#deferred.push(act);
    else if (this.#phase === 'committed') act();
  }

  #addText(text: string): void {
    this.marks.note('first_token_ms');
    this.#transcript.addText(text);
    const clauses = this.#splitter.push(text);
    this.#onceCommitted(() => {
      this.#watch();
      this.#deps.fillers.onText();
      this.#deps.send({ type: 'bot-llm-text', data: { text } });
    });
    const { likelyFirst } = this.#splitter;
    if (likelyFirst !== undefined) this.#prepareFirst(likelyFirst);
    for (const clause of clauses) this.#sayClause(clause);
  }

  #act(event: TurnEvent): void {
    const { send, fillers } = this.#deps;
    this.#watch();
    switch (event.type) {
      case 'tool-start':
        this.#runningTools += 1;
        this.#watch();
        this.#transcript.addCall(event.toolCallId, event.name, event.input);
        this.#sayRest();
        fillers.onToolStarted(event.toolCallId);
        send({ type: 'llm-function-call-started', data: callData(event, { arguments: event.input }) });
        return;
      case 'tool-end':
        this.#runningTools -= 1;
        this.#watch();
        this.#transcript.addResult(event.toolCallId, event.result, event.origins);
        fillers.onToolEnded(event.toolCallId);
        send({
          type: 'llm-function-call-stopped',
          data: callData(event, {
            result: event.result.slice(0, longestShown),
            cancelled: false,
            ...(event.held && { held: event.held }),
          }),
        });
        return;
      case 'compaction':
        send(note(compactionNote(event)));
        return;
      case 'wait':
        send(note(event.message));
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

  #sayClause(clause: Clause): void {
    const spoken = this.#spokenOf(clause);
    if (spoken !== undefined) this.#sayAloud(clause, spoken);
    else this.#onceCommitted(() => this.#hear(clause.end));
  }

  /** Undefined: there is nothing to be said. */
  #spokenOf({ text }: Clause): string | undefined {
    const spoken = spokenText(text, this.#deps.language());
    return this.#deps.spoken && isSayable(spoken) ? spoken : undefined;
  }

  #sayAloud(clause: Clause, spoken: string): void {
    this.#openUtterances += 1;
    if (this.#isFirst) this.#prepareFirst(clause);
    const utterance = (this.#isFirst && this.#prepared) || this.#utteranceOf(clause, spoken);
    this.#isFirst = false;
    this.#onceCommitted(() => {
      if (utterance === this.#prepared) this.#prepared = undefined;
      this.#deps.player.say(utterance);
    });
  }

  /** Synthesizes the first clause while it may still change. */
  #prepareFirst(clause: Clause): void {
    const spoken = this.#spokenOf(clause);
    if (spoken === undefined || spoken === this.#prepared?.utterance.text) return;
    if (this.#prepared !== undefined) {
      this.#prepared.cancel();
      this.marks.forget('first_speech_ms');
    }
    this.#prepared = this.#deps.player.prepare(this.#utteranceOf(clause, spoken));
  }

  #utteranceOf({ text, start, end }: Clause, spoken: string): Utterance {
    return {
      text: spoken,
      opening: start === 0,
      onSynthesized: () => this.marks.note('first_speech_ms'),
      onStarted: () => this.#start(),
      onPlayed: () => this.#closeUtterance(end),
      onFailed: () => this.#closeUtterance(end),
      // An utterance that never started says nothing about the text before it.
      onInterrupted: (share) => this.#closeUtterance(share === 0 ? 0 : start + lengthOfShare(text, share)),
    };
  }

  #start(): void {
    if (!this.#started) {
      this.marks.note('first_packet_ms');
      this.#deps.answered(this.marks);
    }
    this.#started = true;
  }

  #hear(end: number): void {
    this.#heard = Math.max(this.#heard, end);
  }

  #closeUtterance(end: number): void {
    this.#openUtterances -= 1;
    this.#hear(end);
    this.#finishIfHeard();
  }

  #apologise(kind: keyof Language['apologies']): void {
    // Nobody has just asked for a late result: it is announced another time.
    if (this.#deps.outcome !== undefined) return;
    this.#started = true;
    this.#deps.fillers.stop();
    this.#deps.player.say({ text: this.#deps.language().apologies[kind], cached: true });
  }

  /** No reply may hang: the model is given up when it is silent for too long while no tool runs. */
  #watch(): void {
    this.#watchdog.cancel();
    if (this.#runningTools > 0 || this.#generated || this.#phase === 'abandoned') return;
    this.#watchdog.set(thinkingLimitMs, () => {
      this.#controller.abort();
      this.#apologise('stuck');
      this.#endGeneration();
    });
  }

  #endGeneration(): void {
    if (this.#generated) return;
    this.#generated = true;
    this.#onceCommitted(() => {
      this.#watchdog.cancel();
      this.#deps.fillers.stop();
      this.#deps.send({ type: 'bot-llm-stopped' });
      this.#finishIfHeard();
    });
  }

  #finishIfHeard(): void {
    if (!this.#generated || this.#openUtterances > 0 || this.#phase !== 'committed') return;
    this.#phase = 'finished';
    this.#deps.over(this);
  }
}

function note(text: string): Outgoing {
  return { type: 'server-message', data: { type: 'note', text } };
}

function callData<More extends object>(event: { toolCallId: string; name: string }, more: More) {
  return { tool_call_id: event.toolCallId, function_name: event.name, ...more };
}
