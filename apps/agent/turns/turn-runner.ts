import type { Principal } from '@trunkline/identity';
import { ModelError, type Tool } from '@trunkline/llm';
import {
  CheckpointError,
  type EndEvent,
  type ErrorEvent,
  type PauseEvent,
  type RunTurnOptions,
  resumeTurn,
  runTurn,
  type TurnEvent,
  type TurnOptions,
} from '@trunkline/loop';
import type { Skill } from '../skills/skill-shelf.ts';
import { type Approvals, waitingCall } from './approvals.ts';
import type { CheckpointStore } from './checkpoint-store.ts';
import type { Graph } from './graph.ts';
import { turnInstructions } from './instructions.ts';
import type { SessionLocks } from './session-locks.ts';
import type { SessionMemory } from './session-memory.ts';
import type { Messages, Session, SessionStore } from './session-store.ts';
import { Spending } from './spending.ts';
import { subagentTools } from './subagents.ts';

/** Told of everything that turns do, for counters and the audit log. */
export interface TurnObserver {
  turnEvent?(sessionId: string, event: TurnEvent): void;
}

export interface TurnRunnerOptions {
  /** Rejects while the agent cannot run. */
  graph(): Promise<Graph>;
  findSkill(name: string): Promise<Skill | undefined>;
  sessions: SessionStore;
  checkpoints: CheckpointStore;
  locks: SessionLocks;
  /** Undefined where session memory is off. */
  memory(): { store: SessionMemory; sessions: number; tokens: number } | undefined;
  observers: readonly TurnObserver[];
}

export interface TurnRequest {
  sessionId: string;
  /** Under this id the turn is stored when it waits for an answer. */
  taskId: string;
  text: string;
  skill?: string | undefined;
  /** Who sent the message. */
  principal: Principal;
  signal: AbortSignal;
}

/** What a turn reports, with what its helpers have used so far. */
export type RunnerEvent = TurnEvent & { spending: Spending };

interface Prepared {
  approvals: Approvals;
  options: TurnOptions;
  spending: Spending;
  session: Session;
}

/** Runs the turns of sessions: loads what was said, saves what is said, and parks what waits for an answer. */
export class TurnRunner {
  readonly #options: TurnRunnerOptions;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
  }

  /** A turn for a new message. */
  async *run(request: TurnRequest): AsyncGenerator<RunnerEvent, void> {
    yield* this.#exclusively(request, (prepared) => {
      const messages: Messages = [...prepared.session.messages, { role: 'user', content: request.text }];
      return runTurn({ ...prepared.options, messages } satisfies RunTurnOptions);
    });
  }

  /** The rest of a turn whose question is answered. */
  async *resume(request: TurnRequest): AsyncGenerator<RunnerEvent, void> {
    const parked = this.#options.checkpoints.load(request.taskId);
    if (parked === undefined) {
      throw new TurnRefusal('The question of this task is no longer stored. Send the task again.');
    }
    yield* this.#exclusively({ ...request, skill: parked.skill }, (prepared) => {
      prepared.session.version = parked.sessionVersion;
      return answered(parked.checkpoint, request, prepared);
    });
  }

  async *#exclusively(
    request: TurnRequest,
    begin: (prepared: Prepared) => AsyncIterable<TurnEvent>,
  ): AsyncGenerator<RunnerEvent, void> {
    const release = await this.#options.locks.acquire(request.sessionId);
    try {
      const prepared = await this.#prepare(request);
      const { spending, session, approvals } = prepared;
      for await (const event of begin(prepared)) {
        this.#observe(request.sessionId, event);
        this.#settle(event, request, session);
        yield { ...withQuestion(event, approvals), spending };
      }
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      throw new TurnRefusal(error.message);
    } finally {
      release();
    }
  }

  async #prepare(request: TurnRequest): Promise<Prepared> {
    const graph = await this.#options.graph();
    const skill = await this.#skill(request.skill);
    const spending = new Spending(graph.limits);
    const compaction = graph.compaction();
    const options: TurnOptions = {
      model: graph.model(),
      instructions: turnInstructions(graph.instructions, skill, this.#earlier(request.sessionId)),
      tools: chosenBy(skill, this.#tools(graph, spending, request)),
      limits: spending.limits,
      sessionId: request.sessionId,
      principal: request.principal,
      signal: request.signal,
      cost: graph.cost,
      ...(compaction && { compaction }),
    };
    const { approvals } = graph;
    return { options, spending, approvals, session: this.#options.sessions.load(request.sessionId) };
  }

  #tools(graph: Graph, spending: Spending, { sessionId }: TurnRequest): Tool[] {
    const onEvent = (event: TurnEvent) => this.#observe(sessionId, event);
    return [...graph.tools, ...graph.humanTools, ...subagentTools({ graph, spending, onEvent })];
  }

  async #skill(name: string | undefined): Promise<Skill | undefined> {
    if (name === undefined || name === '') return undefined;
    const skill = await this.#options.findSkill(name);
    if (skill === undefined) throw new TurnRefusal(`There is no skill named "${name}".`);
    return skill;
  }

  #earlier(sessionId: string): string {
    const memory = this.#options.memory();
    return memory === undefined ? '' : memory.store.digest(sessionId, memory);
  }

  /** Saves before anybody is told, so that what was told is never lost. */
  #settle(event: TurnEvent, request: TurnRequest, session: Session): void {
    if (event.type === 'pause') this.#park(event, request, session);
    else if (event.type === 'end' || event.type === 'error') this.#finish(event, request, session);
  }

  #park({ checkpoint }: PauseEvent, { taskId, skill }: TurnRequest, { version }: Session): void {
    this.#options.checkpoints.save(taskId, { checkpoint, sessionVersion: version, skill });
  }

  #finish(event: EndEvent | ErrorEvent, request: TurnRequest, begun: Session): void {
    const { sessions, checkpoints } = this.#options;
    checkpoints.delete(request.taskId);
    const version = sessions.version(request.sessionId);
    const messages =
      version === begun.version ? event.messages : appended(sessions.load(request.sessionId), event, request);
    if (messages.length === 0) return;
    sessions.save(request.sessionId, { messages, version: version + 1 });
    this.#options.memory()?.store.keep(recordOf(request.sessionId, messages, event));
  }

  #observe(sessionId: string, event: TurnEvent): void {
    for (const observer of this.#options.observers) observer.turnEvent?.(sessionId, event);
  }
}

/** A turn that could not begin, in words for the one who asked. */
export class TurnRefusal extends Error {}

/** The rest of a turn. A call that waited for leave is carried out or refused first, and shows like any other. */
async function* answered(
  checkpoint: unknown,
  { text, signal }: TurnRequest,
  { options, approvals }: Prepared,
): AsyncGenerator<TurnEvent, void> {
  const call = askedBy(checkpoint);
  if (call !== undefined && !options.tools.some(({ name }) => name === call.name)) {
    const answer = `Error: ${call.name} is no longer offered and was not run. The person had answered: ${text}`;
    return yield* resumeTurn({ ...options, checkpoint, answer });
  }
  if (call === undefined || approvals.question(call) === undefined)
    return yield* resumeTurn({ ...options, checkpoint, answer: text });
  const { toolCallId, name, input } = call;
  yield { type: 'tool-start', toolCallId, name, input };
  const start = performance.now();
  const result = (await approvals.answer(call, text, signal)) ?? text;
  const durationMs = Math.round(performance.now() - start);
  yield { type: 'tool-end', toolCallId, name, result, failed: result.startsWith('Error:'), durationMs };
  yield* resumeTurn({ ...options, checkpoint, answer: result });
}

function askedBy(checkpoint: unknown) {
  try {
    return waitingCall(checkpoint);
  } catch (error) {
    // The loop says in its own words what is wrong with a damaged checkpoint.
    if (error instanceof CheckpointError) return undefined;
    throw error;
  }
}

function withQuestion<Event extends TurnEvent>(event: Event, approvals: Approvals): Event {
  if (event.type !== 'pause') return event;
  return { ...event, question: approvals.question(event) ?? event.question };
}

function chosenBy(skill: Skill | undefined, tools: Tool[]): Tool[] {
  const names = skill?.tools;
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

/** Other turns of the session ended while this one waited: only its question and its answer are added to theirs. */
function appended({ messages }: Session, { text }: EndEvent | ErrorEvent, request: TurnRequest): Messages {
  const answer = text === '' ? [] : [{ role: 'assistant' as const, content: text }];
  return [...messages, { role: 'user', content: request.text }, ...answer];
}

function recordOf(sessionId: string, messages: Messages, event: EndEvent | ErrorEvent) {
  return {
    session_id: sessionId,
    trace_id: null,
    messages: plainMessages(messages),
    tool_calls: messages.filter(({ role }) => role === 'tool').length,
    final_output: event.type === 'error' && event.text === '' ? event.message : event.text,
  };
}

/** What people said to each other, without the traffic with tools. */
export function plainMessages(messages: Messages): { role: string; content: string }[] {
  return messages
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map(({ role, content }) => ({ role, content: textOf(content) }))
    .filter(({ content }) => content !== '');
}

function textOf(content: Messages[number]['content']): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
