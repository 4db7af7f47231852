import type { ExecutionEvent, ExecutionRequest, Executor, RecoveredTurn, Task, Usage } from '@trunkline/a2a';
import { type Principal, withOrigins } from '@trunkline/identity';
import {
  type Content,
  compactionNote,
  type EndEvent,
  type PauseEvent,
  type StoredFile,
  type Usage as TurnUsage,
} from '@trunkline/loop';
import { isTimezone } from '@trunkline/schedule';
import { actingFor, askedBy } from '../approvals/approvals.ts';
import type { AnswerGate } from '../callers.ts';
import type { CompletedTurn } from '../chats/chat-titles.ts';
import { type CitationContent, contentsOfTasks, sourcesArtifact } from '../content/a2a-content.ts';
import { type AgentContent, ContentRefusal } from '../content/agent-content.ts';
import type { CheckpointStore, ParkedTurn } from './checkpoint-store.ts';
import type { InterruptedTurn, RunningTurns, TurnOutcome, TurnRequest } from './running-turns.ts';
import type { SessionStore } from './session-store.ts';
import { Spending } from './subagents.ts';
import { type RunnerEvent, TurnRefusal, type TurnRunner } from './turn-runner.ts';

/** What follows a turn: another one, or a note beside the answer. */
export type Verdict = { goOnWith: string } | { note: string };

/** Called after each completed turn; undefined when nothing follows. */
export type GoalWatch = (ended: EndedTurn, signal: AbortSignal) => Promise<Verdict | undefined>;

interface EndedTurn {
  sessionId: string;
  output: string;
  /** How many turns the task has taken so far, also where the goal was set again meanwhile. */
  turns: number;
}

export interface TurnExecutorOptions {
  runner: TurnRunner;
  checkpoints: CheckpointStore;
  /** Undefined where a restart ends what was running. */
  running?: RunningTurns | undefined;
  watch: GoalWatch;
  gate: AnswerGate;
  content: Pick<AgentContent, 'receive' | 'artifact'>;
  sessions: Pick<SessionStore, 'load'>;
  /** Whether it is the operator who calls. */
  isOperator(principal: Principal): boolean;
  onCompleted?(turn: CompletedTurn): void;
}

/** Marks a message that continues a conversation whoever started it. Counts from the operator alone. */
export const joiningMetadata = { joins: true };

/** Executes tasks: each message is a turn, whose events it translates to those of the task engine. */
export class TurnExecutor implements Executor {
  readonly #options: TurnExecutorOptions;

  constructor(options: TurnExecutorOptions) {
    this.#options = options;
  }

  async *execute(request: ExecutionRequest, signal: AbortSignal): AsyncGenerator<ExecutionEvent, void> {
    const { runner, gate, isOperator } = this.#options;
    const { task, text, metadata, resume } = request;
    const parked = resume === undefined ? undefined : this.#options.checkpoints.load(task.id);
    const again = parked && resume && gate(parked, resume, request);
    if (again !== undefined) return yield again;
    let contents: readonly Content[];
    try {
      contents = await this.#contents(request, parked, signal);
    } catch (error) {
      if (!(error instanceof ContentRefusal)) throw error;
      return yield refused(error.message, resume);
    }
    const joins = metadata.joins === true && isOperator(request.principal);
    const principal = parked?.principal ?? actingFor(request.principal);
    const place = { sessionId: task.contextId, taskId: task.id };
    const named = {
      skill: wordOf(metadata.skill),
      user: wordOf(metadata.user),
      timezone: timezoneOf(metadata.timezone),
    };
    const said = resume === undefined ? text : answerOf(request);
    const turn = {
      ...place,
      ...named,
      text: said,
      contents,
      principal,
      answeredBy: request.principal,
      joins,
      signal,
    };
    const events = resume === undefined ? runner.run(turn) : runner.resume(turn);
    yield* this.#toTheEnd(turn, events, parked);
  }

  recover({ id }: Pick<Task, 'id'>, signal: AbortSignal): RecoveredTurn | undefined {
    const interrupted = this.#options.running?.takeUp(id);
    if (interrupted === undefined) return undefined;
    const { principal } = interrupted.request;
    return { principal, events: this.#goOn(interrupted, signal) };
  }

  /** Steps that were done are told once more, as the task does not hold what they said. */
  async *#goOn(interrupted: InterruptedTurn, signal: AbortSignal): AsyncGenerator<ExecutionEvent, void> {
    const { runner, checkpoints } = this.#options;
    const { request, isAnswer, outcome } = interrupted;
    const turn = { ...request, interrupted, signal };
    const parked = isAnswer ? checkpoints.load(request.taskId) : undefined;
    yield { type: 'progress', text: 'Going on after a restart of the service' };
    if (request.earlier !== undefined) yield { type: 'text-delta', text: request.earlier.text };
    const events = isAnswer ? runner.resume(turn) : runner.run(turn);
    yield* this.#toTheEnd(turn, outcome === undefined ? events : endedWith(outcome), parked);
  }

  async *#toTheEnd(
    turn: TurnRequest,
    events: AsyncIterable<RunnerEvent>,
    parked: ParkedTurn | undefined,
  ): AsyncGenerator<ExecutionEvent, void> {
    const used = (parked?.checkpoint as { usage?: TurnUsage } | undefined)?.usage;
    try {
      // The engine has counted already what a turn used before it waited.
      yield* this.#toTheGoal(turn, events, new UsageCounter(used));
    } catch (error) {
      if (!(error instanceof TurnRefusal)) throw error;
      yield { type: 'failed', message: error.message };
    }
  }

  async #contents(
    request: ExecutionRequest,
    parked: ParkedTurn | undefined,
    signal: AbortSignal,
  ): Promise<readonly Content[]> {
    const { message, task, principal, resume, references = [] } = request;
    const { sessions } = this.#options;
    const earlier = resume === undefined ? contentsOfTasks(references, sessions, principal) : [];
    if (message.parts.every(({ type }) => type === 'text')) return earlier;
    // The data of an answer is in its words.
    const parts = resume === undefined ? message.parts : message.parts.filter(({ type }) => type === 'file');
    // A tool that asked, or a person's leave, takes words alone.
    const call = parked && askedBy(parked.checkpoint);
    const takesWords =
      parked?.approval !== undefined || call?.question !== undefined || call?.ask !== undefined;
    if (parts.length > 0 && takesWords)
      throw new ContentRefusal(
        'This answer takes no files. Answer in words, and send files in another message.',
      );
    const place = { principal, sessionId: task.contextId };
    return [...(await this.#options.content.receive(parts, place, signal)), ...earlier];
  }

  /** One turn after the other, until there is no goal or it is settled. */
  async *#toTheGoal(
    turn: TurnRequest,
    first: AsyncIterable<RunnerEvent>,
    firstCounter: UsageCounter,
  ): AsyncGenerator<ExecutionEvent, void> {
    let [events, counter] = [first, firstCounter];
    let said = turn.earlier?.text ?? '';
    for (let turns = (turn.earlier?.turns ?? 0) + 1; ; turns += 1) {
      const end = yield* this.#untilEnd(events, counter);
      if (end === undefined) return;
      const conclusion = conclude(end);
      const verdict =
        conclusion.type === 'completed'
          ? await this.#options.watch({ sessionId: turn.sessionId, output: end.text, turns }, turn.signal)
          : undefined;
      if (conclusion.type === 'completed' && verdict === undefined)
        this.#options.onCompleted?.({ ...turn, answer: end.text });
      if (verdict === undefined) return yield conclusion;
      if ('note' in verdict) return yield { type: 'completed', message: verdict.note };
      yield { type: 'progress', text: 'The goal is not reached yet: going on' };
      yield { type: 'text-delta', text: '\n\n' };
      const principal = withOrigins(turn.principal, end.origins);
      said += `${end.text}\n\n`;
      const { interrupted: _, ...asked } = turn;
      const next = {
        ...asked,
        principal,
        text: verdict.goOnWith,
        contents: [],
        earlier: { turns, text: said },
      };
      [events, counter] = [this.#options.runner.run(next), new UsageCounter(undefined)];
    }
  }

  /** Yields the events of a turn and returns its end event, which it does not yield. */
  async *#untilEnd(
    events: AsyncIterable<RunnerEvent>,
    counter: UsageCounter,
  ): AsyncGenerator<ExecutionEvent, EndEvent | undefined> {
    let end: EndEvent | undefined;
    const cited: CitationContent[] = [];
    for await (const event of events) {
      if (event.type === 'end') end = event;
      if (event.type === 'citation') cited.push(event);
      if (['end', 'pause', 'error'].includes(event.type)) yield* sourcesArtifact(cited);
      yield* translate(event, counter);
      for (const file of filesOf(event)) yield await this.#options.content.artifact(file);
    }
    return end;
  }
}

/** A turn whose end was stored, but not that of its task. */
async function* endedWith(outcome: TurnOutcome): AsyncGenerator<RunnerEvent, void> {
  const spending = new Spending({ steps: 0, toolTimeoutMs: 0, turnTimeoutMs: 0 });
  yield { type: 'text-delta', text: outcome.text, spending };
  yield { ...outcome, spending };
}

function filesOf(event: RunnerEvent): readonly StoredFile[] {
  if ('file' in event) return [event.file];
  return (event.type === 'tool-end' && event.files) || [];
}

/** The words of an answer, and the data in it where it has no words of its own for them. */
function answerOf({ message, text }: ExecutionRequest): string {
  const data = message.parts.flatMap((part) => (part.type === 'data' ? [JSON.stringify(part.data)] : []));
  return data.length === 0 || /^\s*[[{]/.test(text) ? text : [text, ...data].join('\n');
}

/** A task that waits for an answer goes on waiting. */
function refused(message: string, resume: ExecutionRequest['resume']): ExecutionEvent {
  if (resume === undefined) return { type: 'rejected', message };
  const { text, schema } = resume;
  return {
    type: 'input-required',
    question: `${message}\n\n${text}`,
    ...(schema !== undefined && { schema }),
  };
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** It stands in the instructions of the model: only the name of a zone passes. */
function timezoneOf(value: unknown): string | undefined {
  return typeof value === 'string' && isTimezone(value) ? value : undefined;
}

function translate(event: RunnerEvent, counter: UsageCounter): ExecutionEvent[] {
  switch (event.type) {
    case 'text-delta':
      return [{ type: 'text-delta', text: event.text }];
    case 'reasoning-delta':
      return [event];
    case 'tool-start':
      return [{ type: 'tool-start', toolCallId: event.toolCallId, name: event.name, args: event.input }];
    case 'tool-progress':
      return [{ type: 'progress', text: `${event.name}: ${event.text}`, toolCallId: event.toolCallId }];
    case 'tool-end': {
      const { toolCallId, name, result, failed, held, replayed, input: args } = event;
      const start = { type: 'tool-start' as const, toolCallId, name, args };
      return [
        ...(replayed ? [start] : []),
        { type: 'tool-end', toolCallId, name, result, failed, denied: held !== undefined },
      ];
    }
    case 'compaction':
      return [{ type: 'progress', text: compactionNote(event) }];
    case 'wait':
      return [{ type: 'progress', text: event.message }];
    case 'pause':
      return [counter.more(event.usage, event.spending), question(event)];
    case 'end':
      return [counter.more(event.usage, event.spending)];
    case 'error':
      return [counter.more(event.usage, event.spending), { type: 'failed', message: event.message }];
    default:
      return [];
  }
}

function question({
  name,
  input,
  question: words,
  schema,
  approval,
}: PauseEvent & Pick<RunnerEvent, 'approval'>): ExecutionEvent {
  return {
    type: 'input-required',
    question: words,
    ...(name === 'request_user_input' && { schema: input }),
    ...(schema !== undefined && { schema }),
    ...(approval !== undefined && { schema: { approval } }),
  };
}

/** A turn that met a limit, or whose model gave neither words nor a file, has not done its task. */
function conclude({ finishReason, text, messages }: EndEvent): ExecutionEvent {
  if (finishReason === 'budget' || finishReason === 'steps') {
    return { type: 'failed', message: lastWords(messages) };
  }
  if (text.trim() === '' && !hasFile(messages)) {
    return { type: 'failed', message: 'The model answered with nothing. Ask again, or in other words.' };
  }
  if (finishReason === 'length') {
    return { type: 'completed', message: 'The answer ends where the model met its length limit.' };
  }
  return { type: 'completed' };
}

/** Whether the model's last answer holds a picture or another file. */
function hasFile(messages: EndEvent['messages']): boolean {
  const content = messages.at(-1)?.content;
  return Array.isArray(content) && content.some(({ type }) => type === 'file');
}

function lastWords(messages: EndEvent['messages']): string {
  const content = messages.at(-1)?.content;
  return typeof content === 'string' ? content : 'The turn met one of its limits.';
}

/** Turns running totals into what was used since the last report. */
class UsageCounter {
  #reported: Usage;

  constructor(before: TurnUsage | undefined) {
    this.#reported = before ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  }

  more(turn: TurnUsage, { helpers }: Spending): ExecutionEvent {
    const before = this.#reported;
    const costUsd = costOf(turn, helpers);
    const now = {
      inputTokens: turn.inputTokens + helpers.inputTokens,
      outputTokens: turn.outputTokens + helpers.outputTokens,
      totalTokens: turn.totalTokens + helpers.totalTokens,
      ...(costUsd !== undefined && { costUsd }),
    };
    this.#reported = now;
    return {
      type: 'usage',
      usage: {
        inputTokens: now.inputTokens - before.inputTokens,
        outputTokens: now.outputTokens - before.outputTokens,
        totalTokens: now.totalTokens - before.totalTokens,
        ...(costUsd !== undefined && { costUsd: costUsd - (before.costUsd ?? 0) }),
        ...((turn.estimated || helpers.estimated) && { estimated: true }),
      },
    };
  }
}

/** What the turn and its helpers cost together; nothing where no price is known. */
function costOf(turn: TurnUsage, helpers: TurnUsage): number | undefined {
  if (turn.costUsd === undefined && !helpers.costUsd) return undefined;
  return (turn.costUsd ?? 0) + (helpers.costUsd ?? 0);
}
