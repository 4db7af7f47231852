import { type Bus, BusError, escapeSegment, type Message } from '@trunkline/bus';
import type { Principal } from '@trunkline/identity';
import { readVerdict } from '@trunkline/tools';
import type { Question } from '../api-types.ts';
import { principalOf } from '../core/principals.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { ApprovalRules } from './approval-rules.ts';
import type { QuestionStore } from './question-store.ts';

const outcomes = ['accepted', 'unknown', 'answered-already', 'not-allowed', 'unclear'] as const;
export type AnswerOutcome = (typeof outcomes)[number];

/** Where an answer goes that was given at a switchboard that does not know the question. */
const givenTopic = 'agent.input.given';
/** Whoever knows the question answers at once. */
const elsewhereMs = 3000;

/** Brings questions of agents to people and their answers back; both outlive a restart. */
export class HumanInput {
  readonly #store: QuestionStore;
  readonly #bus: Bus;
  readonly #rules: ApprovalRules;
  readonly #waiting = new Map<string, Set<(answer: string) => void>>();

  constructor(store: QuestionStore, bus: Bus, rules: ApprovalRules) {
    this.#store = store;
    this.#bus = bus;
    this.#rules = rules;
  }

  /** Begins to hear what was answered at other switchboards on this bus. */
  async start(): Promise<void> {
    await this.#bus.subscribe(givenTopic, (message) => this.#hear(message), { plugin: 'questions' });
  }

  /** The answer, or undefined when none came in time: the question then stays open. The same question is asked once. */
  ask(
    correlationId: string,
    text: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    return this.#answerTo(this.#open(correlationId, text, false), timeoutMs, signal);
  }

  /** Asks for leave, which only some may give. Each answer is good for one time. */
  async askApproval(
    correlationId: string,
    text: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const question = this.#open(correlationId, text, true);
    const answer = await this.#answerTo(question, timeoutMs, signal);
    return answer !== undefined && this.#store.use(question.requestId) ? answer : undefined;
  }

  #open(correlationId: string, question: string, approval: boolean): Question {
    return this.#store.open({ requestId: crypto.randomUUID(), correlationId, question, approval });
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
    await this.#announce(question);
    return await answer;
  }

  /** Takes an answer, also for a question of another switchboard on this bus. */
  async answer(requestId: string, answer: string, by: Principal): Promise<AnswerOutcome> {
    const outcome = await this.#answerHere(requestId, answer, by);
    if (outcome !== 'unknown' || this.#bus.status().engine === 'embedded') return outcome;
    return await this.#answerElsewhere(requestId, answer, by);
  }

  mayApprove(principal: Principal): boolean {
    return this.#rules.mayApprove(principal);
  }

  /** Where an approval can be given, in words for those who may not give it. */
  whereToApprove(): string {
    return this.#rules.where();
  }

  async #answerElsewhere(requestId: string, answer: string, principal: Principal): Promise<AnswerOutcome> {
    try {
      const options = { timeoutMs: elsewhereMs, principal };
      const { payload } = await this.#bus.request(givenTopic, { requestId, answer }, options);
      return outcomes.find((known) => known === fieldsOf(payload).outcome) ?? 'answered-already';
    } catch (error) {
      if (error instanceof BusError && error.code === 'request_timeout') return 'unknown';
      throw error;
    }
  }

  /** Who does not know the question says nothing. */
  async #hear(message: Message): Promise<void> {
    const { payload, reply, correlationId } = message;
    const fields = fieldsOf(payload);
    const [requestId, answer] = [text(fields.requestId), text(fields.answer)];
    if (requestId === undefined || answer === undefined || reply === undefined) return;
    const outcome = await this.#answerHere(requestId, answer, principalOf(message));
    if (outcome === 'unknown') return;
    await this.#bus.publish({ topic: reply.topic, payload: { outcome }, correlationId });
  }

  async #answerHere(requestId: string, answer: string, by: Principal): Promise<AnswerOutcome> {
    const question = this.#store.get(requestId);
    if (question === undefined) return 'unknown';
    if (question.answer !== null) return 'answered-already';
    const refusal = this.refusalOf(question, answer, by);
    if (refusal !== undefined) return refusal;
    if (!this.#store.answer(requestId, answer, by.id)) return 'answered-already';
    for (const wake of this.#waiting.get(requestId) ?? []) wake(answer);
    const { correlationId } = question;
    const topic = `agent.input.response.${escapeSegment(requestId)}`;
    await this.#bus.publish({ topic, payload: { requestId, correlationId, answer }, correlationId });
    return 'accepted';
  }

  /** Why an answer does not count, however it comes: only some may approve, and only with a plain yes or no. */
  refusalOf({ approval }: Question, answer: string, by: Principal): 'not-allowed' | 'unclear' | undefined {
    if (!approval) return undefined;
    if (!this.#rules.mayApprove(by)) return 'not-allowed';
    return readVerdict(answer) === 'unclear' ? 'unclear' : undefined;
  }

  pending(): Question[] {
    return this.#store.pending();
  }

  async #announce({ requestId, correlationId, question: asked, approval }: Question): Promise<void> {
    const topic = `agent.input.request.${escapeSegment(correlationId)}`;
    const question = approval ? `${asked}\n${this.#rules.where()}` : asked;
    const payload = { requestId, correlationId, question, ...(approval && { approval }) };
    await this.#bus.publish({ topic, payload, correlationId });
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
