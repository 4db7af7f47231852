import type { Principal } from '@trunkline/identity';
import { contextWindowOf, ModelError, type Tool } from '@trunkline/llm';
import {
  type EndEvent,
  type ErrorEvent,
  fitContents,
  originsIn,
  type PauseEvent,
  type RunTurnOptions,
  resumeTurn,
  runTurn,
  type TurnEvent,
  type TurnFiles,
  type TurnOptions,
  type TurnPolicy,
  userContent,
} from '@trunkline/loop';
import type { Policy } from '@trunkline/policy';
import { type ApprovalView, type KeyedQueue, readVerdict } from '@trunkline/std';
import { notApproved, readScope } from '@trunkline/tools';
import { allowAlways, consentOf, deniedCall, runAnswered } from '../approvals/answered-call.ts';
import {
  type Approvals,
  approvalQuestion,
  askedAgain,
  askedBy,
  mayAllowAlways,
  mayBeDone,
  policySubject,
  viewOf,
  type WaitingCall,
} from '../approvals/approvals.ts';
import type { ChatStore } from '../chats/chat-store.ts';
import { memoryOf, notYours, type Owners, operatorScope } from '../owners.ts';
import type { Skill } from '../skills/skill-repository.ts';
import type { CheckpointStore, ParkedTurn } from './checkpoint-store.ts';
import { type Graph, toolsOfSkill, turnInstructions } from './graph.ts';
import type { RunningTurns, TurnRequest } from './running-turns.ts';
import type { SessionMemory } from './session-memory.ts';
import { type Messages, recordOf, type Session, type SessionStore, withExchange } from './session-store.ts';
import { Spending, subagentTools } from './subagents.ts';

/** Observes everything that turns do, for metrics and the audit log. */
export type ObserveTurn = (sessionId: string, event: TurnEvent, principal: Principal) => void;

export interface TurnRunnerOptions {
  /** Rejects while the agent cannot run. */
  graph(): Promise<Graph>;
  findSkill(name: string): Promise<Skill | undefined>;
  sessions: SessionStore;
  checkpoints: CheckpointStore;
  /** Undefined where a restart ends what was running. */
  running?: RunningTurns | undefined;
  chats: Pick<ChatStore, 'rootOf' | 'find'>;
  locks: KeyedQueue;
  /** Writes of the stores above at one go. */
  transaction<Result>(work: () => Result): Result;
  /** Undefined where session memory is off. */
  memory(): { store: SessionMemory; sessions: number; tokens: number } | undefined;
  observe: ObserveTurn;
  owners: Owners;
  /** Where the console shows approvals that wait. */
  consoleUrl(): string | undefined;
  policy: Pick<Policy, 'allowAlways' | 'recordConsent'>;
  /** What follows a message that names a prompt of an MCP server; nothing follows others. */
  openPrompt?(request: TurnRequest, files: TurnFiles): Promise<Messages>;
  files(place: Pick<TurnRequest, 'principal' | 'sessionId'>): TurnFiles;
}

/** An event of a turn, with what its subagents have used so far; a question may ask for an approval. */
export type RunnerEvent = TurnEvent & { spending: Spending; approval?: ApprovalView };

/** A pause with a word on why it is asked again. */
type NotedEvent = TurnEvent & { note?: string };

/** Tokens that attached documents may take together, where the window of the model is not known. */
const documentTokens = 20_000;

interface Prepared {
  approvals: Approvals;
  options: TurnOptions & { scope: string; policy: TurnPolicy };
  spending: Spending;
  /** Tokens that the model takes, where that is known. */
  window: number | undefined;
  session: Session;
  /** Who goes on with it. */
  owner: string;
}

/** Runs the turns of sessions: loads what was said, saves what is said, and parks what waits for an answer. */
export class TurnRunner {
  readonly #options: TurnRunnerOptions;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
  }

  /** A turn for a new message. */
  async *run(request: TurnRequest): AsyncGenerator<RunnerEvent, void> {
    const stored = this.#options.running?.begin(request) ?? request;
    const prompt = (await this.#options.openPrompt?.(request, this.#options.files(request))) ?? [];
    yield* this.#exclusively(stored, true, ({ options, session, window = Number.POSITIVE_INFINITY }) => {
      const contents = fitContents(request.contents ?? [], Math.min(window / 3, documentTokens));
      const content = userContent(request.text, contents);
      const messages: Messages = [...session.messages, { role: 'user', content }, ...prompt];
      return runTurn({ ...options, messages } satisfies RunTurnOptions);
    });
  }

  /** The rest of a turn whose question is answered. It goes on for whoever asked for it, whoever answered. */
  async *resume(request: TurnRequest): AsyncGenerator<RunnerEvent, void> {
    const parked = this.#options.checkpoints.load(request.taskId);
    if (parked === undefined) {
      throw new TurnRefusal('The question of this task is no longer stored. Send the task again.');
    }
    const { skill, principal, user, timezone } = parked;
    const answeredBy = request.answeredBy ?? request.principal;
    const asked = { ...request, skill, principal, user, timezone, answeredBy };
    const rest = this.#options.running?.begin(asked, parked.approval ?? null) ?? asked;
    // An answer that allowed a call before a crash still does: the steps say whether it has run.
    const isAsked = askedBy(parked.checkpoint)?.ask !== undefined;
    const { approval = isAsked ? request.interrupted?.approval : undefined } = parked;
    yield* this.#exclusively(rest, false, (prepared) => {
      prepared.session.version = parked.sessionVersion;
      return this.#answered({ ...parked, approval }, rest, prepared);
    });
  }

  async *#exclusively(
    request: TurnRequest,
    isNew: boolean,
    begin: (prepared: Prepared) => AsyncIterable<NotedEvent>,
  ): AsyncGenerator<RunnerEvent, void> {
    const { sessions, owners, locks } = this.#options;
    const owner = owners.conversation(request.principal);
    // Theirs from its first turn on, before that has ended.
    sessions.claim(request.sessionId, owner);
    const release = await locks.acquire(request.sessionId);
    try {
      const session = sessions.load(request.sessionId);
      if (isNew) {
        if (!owners.mayContinue(request.principal, session.owner ?? owner) && !request.joins)
          throw new TurnRefusal(notYours);
        // Before anything can fail: a turn that could not start can be made again too.
        const asker = { owner: owners.asker(request.principal), origins: request.principal.origins };
        sessions.begin(request.taskId, request.sessionId, session, asker);
      }
      const prepared = { ...(await this.#prepare(request)), session, owner };
      const { spending } = prepared;
      for await (const event of begin(prepared)) {
        this.#observe(event, request);
        yield { ...(await this.#settle(event, request, prepared)), spending };
      }
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      throw new TurnRefusal(error.message);
    } finally {
      release();
    }
  }

  /** What ran before a crash was reported then. */
  #observe(event: TurnEvent, { sessionId, principal }: TurnRequest): void {
    if (event.type === 'tool-end' && event.replayed) return;
    this.#options.observe(sessionId, event, principal);
  }

  async #prepare(request: TurnRequest): Promise<Omit<Prepared, 'session' | 'owner'>> {
    const graph = await this.#options.graph();
    const skill = await this.#skill(request.skill);
    const model = this.#model(graph, request);
    const spending = new Spending(graph.limits(model));
    const compaction = graph.compaction();
    const scope = this.#options.owners.memory(request);
    const window = await contextWindowOf(model, request.signal);
    const options = {
      model,
      instructions: turnInstructions(
        graph.instructions,
        skill,
        this.#earlier(scope, request.sessionId, window),
        request.timezone,
      ),
      tools: toolsOfSkill(skill, this.#tools(graph, spending, request)),
      limits: spending.limits,
      sessionId: request.sessionId,
      principal: request.principal,
      policy: { ...graph.policy, ask: 'pause' as const },
      scope,
      timezone: request.timezone,
      signal: request.signal,
      files: this.#options.files(request),
      cost: graph.cost,
      steps: request.steps,
      ...(compaction && { compaction }),
    };
    return { options, spending, window, approvals: graph.approvals };
  }

  #model(graph: Graph, { sessionId, taskId, principal }: TurnRequest): ReturnType<Graph['model']> {
    const { sessions, chats, owners } = this.#options;
    const turn = chats.find(taskId);
    // The run of a schedule has a session of its own, and the model of the chat in which it was made.
    const isScheduled = turn?.schedule !== undefined;
    const root = chats.rootOf(isScheduled ? turn.session_id : sessionId);
    const chosen = sessions.chosenModel(root);
    if (chosen === undefined) return graph.model();
    // Others who share the conversation have what `model.choices` lists.
    const mayUseAny = [operatorScope, sessions.owner(root)].includes(owners.asker(principal));
    const model = graph.chosenModel({ ...chosen, byOperator: chosen.byOperator && mayUseAny });
    if (model !== undefined) return model;
    // Nobody is there to choose another when a schedule runs.
    if (chosen.byOperator || isScheduled) return graph.model();
    throw new TurnRefusal(
      `The model ${chosen.model}, which was chosen for this chat, is no longer offered. Choose another beside the message box, then retry.`,
    );
  }

  #tools(graph: Graph, spending: Spending, request: TurnRequest): Tool[] {
    const onEvent = (event: TurnEvent) => this.#observe(event, request);
    const files = this.#options.files(request);
    const helpers = subagentTools({ graph, spending, onEvent, steps: request.steps?.log, files });
    return [...graph.tools, ...graph.humanTools, ...helpers];
  }

  async #skill(name: string | undefined): Promise<Skill | undefined> {
    if (name === undefined || name === '') return undefined;
    const skill = await this.#options.findSkill(name);
    if (skill === undefined) throw new TurnRefusal(`There is no skill named "${name}".`);
    return skill;
  }

  /** Earlier sessions take at most a tenth of what the model reads at a time. */
  #earlier(scope: string, sessionId: string, window = Number.POSITIVE_INFINITY): string {
    const memory = this.#options.memory();
    if (memory === undefined) return '';
    const tokens = Math.min(memory.tokens, window / 10);
    // What was said in another branch of a chat is not told in this one.
    return memory.store.digest(scope, this.#options.chats.rootOf(sessionId), { ...memory, tokens });
  }

  /** Saves before it reports, so that nothing reported is ever lost. */
  async #settle(
    event: NotedEvent,
    request: TurnRequest,
    prepared: Prepared,
  ): Promise<TurnEvent & { approval?: ApprovalView }> {
    if (event.type === 'pause') return await this.#park(event, request, prepared);
    if (event.type === 'end' || event.type === 'error') this.#finish(event, request, prepared);
    return event;
  }

  async #park(event: PauseEvent & { note?: string }, request: TurnRequest, prepared: Prepared) {
    const { taskId, skill, principal, user, timezone, signal } = request;
    const { ask } = event;
    const subject =
      ask === undefined ? await prepared.approvals.subject(event) : policySubject({ ...event, ask });
    if (signal.aborted) return event;
    const approval = subject === undefined ? undefined : { id: crypto.randomUUID(), subject };
    const { checkpoint, note } = event;
    const sessionVersion = prepared.session.version;
    const parked = { checkpoint, sessionVersion, skill, principal, user, timezone, approval };
    const { checkpoints, running, consoleUrl, transaction } = this.#options;
    const question = approval && approvalQuestion(approval, consoleUrl(), note);
    const asking = approval && question ? { ...event, question, approval: viewOf(approval, note) } : event;
    transaction(() => {
      checkpoints.save(taskId, parked);
      running?.end(taskId, asking);
    });
    return asking;
  }

  /** The rest of a turn. A call that waited for an approval is carried out or refused first, and shows like any other. */
  async *#answered(
    { checkpoint, approval }: ParkedTurn,
    request: TurnRequest & { answeredBy: Principal },
    { options, approvals }: Prepared,
  ): AsyncGenerator<NotedEvent, void> {
    const { text, taskId, sessionId, answeredBy } = request;
    const call = askedBy(checkpoint);
    // What was answered before a crash was recorded then.
    if (call !== undefined && approval !== undefined && request.interrupted === undefined)
      this.#options.policy.recordConsent({
        ...(await consentOf({ call, approval, text, answeredBy }, options.tools)),
        task: sessionId,
      });
    if (call !== undefined && !options.tools.some(({ name }) => name === call.name)) {
      const answer = `Error: ${call.name} is no longer offered and was not run. The person had answered: ${text}`;
      return yield* resumeTurn({ ...options, checkpoint, answer });
    }
    if (call === undefined) return yield* resumeTurn({ ...options, checkpoint, answer: text });
    // Whoever could answer a question was let through, and the approval itself was used up before a crash.
    if (call.ask !== undefined && approval === undefined) return yield askedAgain(call, checkpoint);
    if (call.ask !== undefined) return yield* this.#allowed(call, checkpoint, request, options);
    if (approval === undefined) {
      const isQuestion = (await approvals.subject(call)) === undefined;
      const answer = isQuestion ? text : request.interrupted?.answer;
      const contents = isQuestion ? request.contents : [];
      if (answer !== undefined) return yield* resumeTurn({ ...options, checkpoint, answer, contents });
      return yield askedAgain(call, checkpoint, request.interrupted && mayBeDone);
    }
    const { toolCallId, name, input } = call;
    this.#options.checkpoints.take(taskId);
    yield { type: 'tool-start', toolCallId, name, input };
    const start = performance.now();
    const answered = { call, approval, text, answeredBy };
    const { changed, refused, ...ran } = await runAnswered(answered, checkpoint, options, approvals);
    const { result } = ran;
    if (changed === undefined && !request.signal.aborted) this.#options.running?.answer(taskId, result);
    const durationMs = Math.round(performance.now() - start);
    yield { type: 'tool-end', toolCallId, name, ...ran, failed: result.startsWith('Error:'), durationMs };
    if (changed !== undefined) return yield askedAgain(call, checkpoint, `Asked again: ${changed}`);
    yield* resumeTurn({ ...options, checkpoint, answer: result, refused });
  }

  /** The rest of a turn whose call policy asked about. The loop runs it, as any other. */
  async *#allowed(
    call: WaitingCall,
    checkpoint: unknown,
    { text, taskId, answeredBy }: TurnRequest & { answeredBy: Principal },
    options: Prepared['options'],
  ): AsyncGenerator<NotedEvent, void> {
    const { answer, scope } = readScope(text);
    this.#options.checkpoints.take(taskId);
    if (readVerdict(answer) !== 'yes') {
      yield* deniedCall(call, notApproved(text));
      return yield* resumeTurn({ ...options, checkpoint, answer: notApproved(text), refused: true });
    }
    const note =
      scope === 'always' && mayAllowAlways(answeredBy)
        ? await allowAlways(call, answeredBy, options, this.#options.policy)
        : undefined;
    const rest = resumeTurn({
      ...options,
      checkpoint,
      answer,
      approval: scope === 'once' ? 'once' : 'task',
    });
    if (note === undefined) yield* rest;
    else yield* prefixed(`${note} Your answer counts for this task.\n\n`, rest);
  }

  #finish(event: EndEvent | ErrorEvent, request: TurnRequest, prepared: Prepared): void {
    const { session, options } = prepared;
    const { sessions, checkpoints, running, owners, transaction } = this.#options;
    // The service stops: the next process goes on. A task that was cancelled is no longer there.
    if (event.type === 'error' && event.code === 'aborted' && running?.has(request.taskId)) return;
    const { owner = prepared.owner } = session;
    const messages = transaction(() => {
      running?.end(request.taskId, event);
      checkpoints.delete(request.taskId);
      const version = sessions.version(request.sessionId);
      const said =
        version === session.version
          ? event.messages
          : sessions.withTurn(request.sessionId, session.version, event);
      if (said.length === 0) return said;
      this.#addToChat(event, request);
      sessions.save(request.sessionId, { messages: said, version: version + 1, owner }, request.taskId);
      return said;
    });
    if (messages.length === 0) return;
    // What the operator adds to a conversation of somebody else stays theirs.
    const isOwn = owners.mayContinue(request.principal, owner);
    const scope = isOwn ? options.scope : memoryOf(owner, request.sessionId);
    const question = messages.find(({ role }) => role === 'user');
    const outside = {
      question: question !== undefined && originsIn([question]).length > 0,
      answer: event.origins !== undefined,
    };
    const chat = this.#options.chats.rootOf(request.sessionId);
    this.#options.memory()?.store.keep({ ...recordOf(chat, messages, event), scope, outside });
  }

  /** The conversation that shows the run of a schedule knows of it from its next turn on. */
  #addToChat(event: EndEvent | ErrorEvent, { taskId, sessionId, principal }: TurnRequest): void {
    const { sessions, chats } = this.#options;
    const shown = chats.find(taskId);
    if (shown?.schedule === undefined || shown.session_id === sessionId || event.text === '') return;
    const asked = shown.entries.find(({ kind }) => kind === 'user');
    const chat = sessions.load(shown.session_id);
    if (asked?.kind !== 'user' || chat.owner === undefined) return;
    const text = `(Now due, scheduled earlier in this conversation:) ${asked.text}`;
    const messages = withExchange(chat, event, { text, principal });
    sessions.save(shown.session_id, { ...chat, messages, version: chat.version + 1 });
  }
}

/** The events of a turn whose answer begins with a note to whoever reads it. */
async function* prefixed(note: string, events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent, void> {
  yield { type: 'text-delta', text: note };
  for await (const event of events)
    yield event.type === 'end' ? { ...event, text: note + event.text } : event;
}

/** Why a turn could not start; the message is for the caller. */
export class TurnRefusal extends Error {}
