import { type Bus, BusError, escapeSegment, type Message } from '@trunkline/bus';
import { maySee, type Principal } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import type { Consent } from '@trunkline/policy';
import { readVerdict } from '@trunkline/std';
import { readScope } from '@trunkline/tools';
import { z } from 'zod';
import type { Question } from '../api-types.ts';
import { filesOfAnswer } from '../content/references.ts';
import { onBehalfOf, ownerOfMessage, principalOf } from '../core/messages.ts';
import type { SkillContext, SkillFrame } from '../dispatch/executor.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { ApprovalRules } from './approval-rules.ts';
import type { AskedCall, QuestionStore, SharedQuestion } from './question-store.ts';
import type { SharedInput } from './shared-questions.ts';

/** How long an agent waits for a person in one call. */
export const askLimitMs = 110_000;

/** `kept`: for whoever goes on with the work of a switchboard that is gone. `unsure`: nothing was taken, as it may come back. */
export type AnswerOutcome = (typeof outcomes)[number];
const outcomes = [
  ...(['accepted', 'kept', 'unsure', 'unknown', 'over'] as const),
  ...(['answered-already', 'not-allowed', 'unclear'] as const),
];

/** For answers given at a switchboard that does not know the question. */
const givenTopic = 'agent.input.given';
const elsewhereMs = 3000;

/** Brings agents' questions to people; questions and answers survive a restart. */
export class HumanInput {
  readonly #store: QuestionStore;
  readonly #bus: Bus;
  readonly #rules: ApprovalRules;
  readonly #recordConsent: (consent: Consent) => void;
  readonly #shared: SharedInput | undefined;
  readonly #waiting = new Map<string, Set<(answer: string) => void>>();

  constructor(
    store: QuestionStore,
    bus: Bus,
    rules: ApprovalRules,
    recordConsent: (consent: Consent) => void,
    shared?: SharedInput,
  ) {
    this.#store = store;
    this.#bus = bus;
    this.#rules = rules;
    this.#recordConsent = recordConsent;
    this.#shared = shared;
    store.onAnswered((requestId, answer) => this.#wake(requestId, answer));
  }

  /** Receives answers given at other switchboards on this bus. */
  async start(): Promise<void> {
    await this.#bus.subscribe(givenTopic, (message) => this.#hear(message), { plugin: 'questions' });
  }

  /** Undefined when no answer came in time; the question stays open. The same question is asked once. */
  async ask(
    asker: Asker,
    text: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    return await this.#answerTo(this.#open(asker, text, false), timeoutMs, signal);
  }

  /** Only approvers may answer; each answer is used once. */
  async askApproval(
    asker: Asker & { about: AskedCall },
    text: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const question = this.#open(asker, text, true, asker.about);
    const answer = await this.#answerTo(question, timeoutMs, signal);
    if (answer === undefined || !this.#store.use(question.requestId)) return undefined;
    // Another may have used it that died before it could say so.
    return (await this.#shared?.answers.use(question.requestId)) === false ? undefined : answer;
  }

  #open(
    { correlationId, ...asker }: Asker,
    question: string,
    approval: boolean,
    about?: AskedCall,
  ): Question {
    const owner = asker.owner ?? ownerOfMessage(asker);
    const asked = { requestId: crypto.randomUUID(), correlationId, question, approval, owner };
    const copy = this.#shared?.copies.find(asked);
    const isKnown = this.#store.find(asked) !== undefined;
    if (copy !== undefined && !isKnown) this.#adopt(copy);
    if (!isKnown && copy === undefined) this.#store.requireRoom(owner);
    return this.#store.open(asked, about);
  }

  /** Work goes on here that another switchboard began: people see its question once, and its answer counts. */
  #adopt({ requestId, approval }: Question): void {
    const { copies, isGone } = this.#shared as SharedInput;
    // Two that are at work may not share an approval.
    if (approval && !isGone(copies.nodeOf(requestId))) return;
    this.#store.adopt(copies.shared(requestId) as SharedQuestion);
  }

  async #answerTo(
    question: Question,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    if (question.answer !== null) return question.answer;
    const limit = AbortSignal.timeout(timeoutMs);
    const answer = this.#wait(
      question.requestId,
      signal === undefined ? limit : AbortSignal.any([limit, signal]),
    );
    if (!(await this.#takeKept(question))) await this.#announce(question);
    return await answer;
  }

  /** Wakes whoever waits with the answer that was given elsewhere while nobody did; false when there is none. */
  async #takeKept({ requestId }: Question): Promise<boolean> {
    const kept = await this.#shared?.answers.recall(requestId);
    if (kept === undefined) return false;
    if (this.#store.answer(requestId, kept.answer, kept.by)) this.#wake(requestId, kept.answer);
    return true;
  }

  /**
   * Also answers questions of other switchboards on this bus. With `asOwner`, questions that they may not see do not
   * exist; on a surface, whoever is where the question was asked may answer it. An answer that is given again under the
   * same `id` counts as the first one.
   */
  async answer(
    requestId: string,
    answer: string,
    by: Principal,
    { asOwner = false, id = crypto.randomUUID() as string } = {},
  ): Promise<AnswerOutcome> {
    const given = { id, requestId, answer, asOwner };
    const outcome = await this.#answerHere(given, by);
    if (outcome !== 'unknown' || this.#bus.status().engine === 'embedded') return outcome;
    const there = await this.#answerElsewhere(given, by);
    if (there !== 'unknown') return there;
    const kept = await this.#answerCopy(given, by);
    // The work may have gone on here while the others were asked.
    return kept === 'unknown' ? await this.#answerHere(given, by) : kept;
  }

  /** Keeps the answer to a question of a switchboard that is gone. */
  async #answerCopy(given: GivenAnswer, by: Principal): Promise<AnswerOutcome> {
    const { requestId, answer, asOwner } = given;
    const { copies, isGone } = this.#shared ?? {};
    const copy = copies?.shared(requestId);
    if (copy === undefined || (asOwner && !maySee(by, copy.owner))) return 'unknown';
    if (copy.answer !== null) return 'answered-already';
    if (copy.usedAt !== null) return 'over';
    const refusal = this.refusalOf(copy, answer, by);
    if (refusal !== undefined) return refusal;
    if (!isGone?.(copies?.nodeOf(requestId) ?? '')) {
      // The one that asked may have taken it and be slow to say so.
      const kept = await this.#shared?.answers.recall(requestId);
      if (kept === undefined) return 'unsure';
      return kept.id === given.id ? 'accepted' : 'answered-already';
    }
    return (await this.#accept(copy, given, by)) ? 'kept' : 'answered-already';
  }

  mayApprove(principal: Principal): boolean {
    return this.#rules.mayApprove(principal);
  }

  /** Tells where an approval can be given. */
  whereToApprove(): string {
    return this.#rules.where();
  }

  async #answerElsewhere(given: GivenAnswer, principal: Principal): Promise<AnswerOutcome> {
    try {
      const options = { timeoutMs: elsewhereMs, principal };
      const { payload } = await this.#bus.request(givenTopic, { ...given }, options);
      return outcomes.find((known) => known === fieldsOf(payload).outcome) ?? 'answered-already';
    } catch (error) {
      if (error instanceof BusError && error.code === 'request_timeout') return 'unknown';
      throw error;
    }
  }

  /** A switchboard that does not know the question stays silent. */
  async #hear(message: Message): Promise<void> {
    const { payload, reply, correlationId } = message;
    const fields = fieldsOf(payload);
    const [requestId, answer] = [text(fields.requestId), text(fields.answer)];
    if (requestId === undefined || answer === undefined || reply === undefined) return;
    const id = text(fields.id) ?? crypto.randomUUID();
    const given = { id, requestId, answer, asOwner: fields.asOwner === true };
    const outcome = await this.#answerHere(given, principalOf(message));
    if (outcome === 'unknown') return;
    await this.#bus.publish({ topic: reply.topic, payload: { outcome }, correlationId });
  }

  async #answerHere(given: GivenAnswer, by: Principal): Promise<AnswerOutcome> {
    const { requestId, answer, asOwner } = given;
    const question = this.#store.get(requestId);
    if (question === undefined || (asOwner && !maySee(by, question.owner))) return 'unknown';
    if (question.answer !== null) return 'answered-already';
    if (this.#store.isWithdrawn(requestId)) return 'over';
    const refusal = this.refusalOf(question, answer, by);
    if (refusal !== undefined) return refusal;
    return (await this.#accept(question, given, by)) ? 'accepted' : 'answered-already';
  }

  /** False when it was answered meanwhile. Of answers given at several switchboards, the first on NATS counts at all of them. */
  async #accept(question: Question, given: GivenAnswer, by: Principal): Promise<boolean> {
    const { requestId, correlationId, owner } = question;
    const counted = question.approval ? countedAnswer(given.answer, by) : given.answer;
    const own = { answer: counted, by: by.id, id: given.id };
    const first = this.#shared === undefined ? own : await this.#shared.answers.keep(requestId, own);
    if (first === undefined) return false;
    const copy = this.#shared?.copies.shared(requestId);
    if (copy !== undefined && this.#store.get(requestId) === undefined) this.#store.adopt(copy);
    if (this.#store.answer(requestId, first.answer, first.by)) this.#wake(requestId, first.answer);
    // Whoever else has the question may have stored the same answer, and records it.
    if (first !== own) return first.id === own.id;
    // A switchboard of an earlier version took another.
    if (this.#store.get(requestId)?.answer !== counted) return false;
    if (question.approval) this.#recordConsent(this.#consentOf(question, counted, by));
    const topic = `agent.input.response.${escapeSegment(requestId)}`;
    await this.#bus.publish({
      topic,
      payload: { requestId, correlationId, answer: counted },
      correlationId,
      principal: onBehalfOf(owner, 'switchboard'),
    });
    return true;
  }

  #wake(requestId: string, answer: string): void {
    for (const wake of this.#waiting.get(requestId) ?? []) wake(answer);
  }

  /** A command is approved once, whatever is said; only what a rule asks about can be approved for more. */
  #consentOf(
    { requestId, correlationId, question }: Question,
    counted: string,
    answeredBy: Principal,
  ): Consent {
    const about: Partial<AskedCall> = this.#store.aboutOf(requestId) ?? {};
    const { tool = 'approval', input, rule, isTaskOnly } = about;
    const { answer, scope: said } = readScope(counted);
    const scope = said === 'always' && isTaskOnly ? 'task' : said;
    return {
      ...{ answeredBy, tool, input, rule, shown: question, task: correlationId },
      decision: readVerdict(answer) === 'yes' ? 'allow' : 'deny',
      scope: rule === undefined ? 'once' : scope,
    };
  }

  /** Only approvers may approve, with a plain yes or no, whatever way the answer comes. */
  refusalOf({ approval }: Question, answer: string, by: Principal): 'not-allowed' | 'unclear' | undefined {
    if (!approval) return undefined;
    if (!this.#rules.mayApprove(by)) return 'not-allowed';
    return readVerdict(readScope(answer).answer) === 'unclear' ? 'unclear' : undefined;
  }

  /** Those that somebody may see, or all. */
  pending(viewer?: Principal): Question[] {
    return this.#store.pending(viewer);
  }

  /** Copies of what others asked, with the switchboard that did. */
  pendingElsewhere(viewer?: Principal): { question: Question; node: string; isGone: boolean }[] {
    const { copies, isGone } = this.#shared ?? {};
    return (copies?.pending(viewer) ?? []).map((question) => {
      const node = copies?.nodeOf(question.requestId) ?? '';
      return { question, node, isGone: isGone?.(node) ?? false };
    });
  }

  /**
   * A question as people are shown it, however it is announced: nobody approves one thing under the words of another.
   * Only what this switchboard has not asked may be another's on this bus, and is taken as announced.
   */
  announced(payload: unknown): Announced | undefined {
    const given = fieldsOf(payload);
    const requestId = text(given.requestId) ?? '';
    const own = this.#store.get(requestId);
    if (own !== undefined) return own.answer === null ? this.#shown(own) : undefined;
    const [correlationId, question] = [text(given.correlationId), text(given.question)];
    const isMissing = requestId === '' || correlationId === undefined || question === undefined;
    if (isMissing || this.#bus.status().engine === 'embedded') return undefined;
    return { requestId, correlationId, question, approval: given.approval === true };
  }

  #shown({ requestId, correlationId, question, approval }: Question): Announced {
    const shown = approval ? `${question}\n${this.#rules.where()}` : question;
    return { requestId, correlationId, question: shown, approval };
  }

  async #announce(asked: Question): Promise<void> {
    const { approval, ...shown } = this.#shown(asked);
    const { correlationId, owner } = asked;
    const topic = `agent.input.request.${escapeSegment(correlationId)}`;
    const payload = { ...shown, ...(approval && { approval }) };
    await this.#bus.publish({ topic, payload, correlationId, principal: onBehalfOf(owner, 'switchboard') });
  }

  #wait(requestId: string, signal: AbortSignal): Promise<string | undefined> {
    const waiting = this.#waiting.get(requestId) ?? new Set();
    this.#waiting.set(requestId, waiting);
    return new Promise((resolve) => {
      const end = (answer: string | undefined) => {
        waiting.delete(end);
        if (waiting.size === 0) this.#waiting.delete(requestId);
        resolve(answer);
      };
      waiting.add(end);
      if (signal.aborted) end(undefined);
      signal.addEventListener('abort', () => end(undefined), { once: true });
    });
  }
}

/** Rules are the operator's: an approver's "always" counts for the task. Without a key everybody is the operator. */
function countedAnswer(answer: string, { kind }: Principal): string {
  const { answer: said, scope } = readScope(answer);
  const isAlways = scope === 'always' && readVerdict(said) === 'yes';
  return isAlways && kind !== 'operator' && kind !== 'anonymous' ? 'yes for this task' : answer;
}

/** Asks whoever the request is from; undefined if nobody answers in time. */
export async function askPerson(
  humanInput: HumanInput,
  asker: Asker,
  { tell }: Pick<SkillContext, 'tell'>,
  question: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  tell({ type: 'input-start', question });
  const answer = await humanInput.ask(asker, question, askLimitMs, signal);
  tell({ type: 'input-end', answered: answer !== undefined });
  return answer;
}

/** The end of a question for approval: whatever is no clear yes denies it. */
export function approvalEnd(answer: string | undefined): SkillFrame {
  if (answer === undefined) return { type: 'input-end', answered: false, approval: 'unanswered' };
  const isGiven = readVerdict(readScope(answer).answer) === 'yes';
  return { type: 'input-end', answered: true, approval: isGiven ? 'given' : 'denied' };
}

export function createAskHuman(humanInput: HumanInput, asker: Asker, context: SkillContext): Tool {
  return defineTool({
    name: 'ask_human',
    effects: ['reads'],
    description: 'Asks a person a question and gives the answer. Use it only when you cannot go on without.',
    input: z.object({ question: z.string().min(1) }),
    timeoutMs: askLimitMs + 5000,
    async execute({ question }, { signal, show }) {
      const answer = await askPerson(humanInput, asker, context, question, signal);
      for (const id of filesOfAnswer(answer ?? '')) await show?.(id);
      return answer ?? 'Nobody has answered yet. Say what is still open and end.';
    },
  }) as Tool;
}

interface GivenAnswer {
  /** Tells an answer that reaches several switchboards from another of the same words. */
  id: string;
  requestId: string;
  answer: string;
  asOwner: boolean;
}

type Announced = Pick<Question, 'requestId' | 'correlationId' | 'question' | 'approval'>;

/** The request that a question is about. */
interface Asker {
  correlationId: string;
  principal?: Principal | undefined;
  /** Where it is not the principal's own: an agent with a key asks about the request of somebody else. */
  owner?: string | undefined;
}
