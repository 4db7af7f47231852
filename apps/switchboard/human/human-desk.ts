import { type Bus, BusError, escapeSegment, type Message } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { Question, QuestionStore } from './question-store.ts';

export type AnswerOutcome = 'accepted' | 'unknown' | 'answered-already';

/** Where an answer goes that was given at a switchboard that does not know the question. */
const givenTopic = 'agent.input.given';
/** Whoever knows the question answers at once. */
const elsewhereMs = 3000;

/** Brings questions of agents to people and their answers back; both outlive a restart. */
export class HumanDesk {
  readonly #store: QuestionStore;
  readonly #bus: Bus;
  readonly #waiting = new Map<string, Set<(answer: string) => void>>();

  constructor(store: QuestionStore, bus: Bus) {
    this.#store = store;
    this.#bus = bus;
  }

  /** Begins to hear what was answered at other switchboards on this bus. */
  async start(): Promise<void> {
    await this.#bus.subscribe(givenTopic, (message) => this.#hear(message), { plugin: 'questions' });
  }

  /** The answer, or undefined when none came in time: the question then stays open. The same question is asked once. */
  async ask(
    correlationId: string,
    text: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const question = this.#store.open(crypto.randomUUID(), correlationId, text);
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
  async answer(requestId: string, answer: string): Promise<AnswerOutcome> {
    const outcome = await this.#answerHere(requestId, answer);
    if (outcome !== 'unknown' || this.#bus.status().engine === 'embedded') return outcome;
    return await this.#answerElsewhere(requestId, answer);
  }

  async #answerElsewhere(requestId: string, answer: string): Promise<AnswerOutcome> {
    try {
      const { payload } = await this.#bus.request(
        givenTopic,
        { requestId, answer },
        { timeoutMs: elsewhereMs },
      );
      return fieldsOf(payload).outcome === 'accepted' ? 'accepted' : 'answered-already';
    } catch (error) {
      if (error instanceof BusError && error.code === 'request_timeout') return 'unknown';
      throw error;
    }
  }

  /** Who does not know the question says nothing. */
  async #hear({ payload, reply, correlationId }: Message): Promise<void> {
    const fields = fieldsOf(payload);
    const [requestId, answer] = [text(fields.requestId), text(fields.answer)];
    if (requestId === undefined || answer === undefined || reply === undefined) return;
    const outcome = await this.#answerHere(requestId, answer);
    if (outcome === 'unknown') return;
    await this.#bus.publish({ topic: reply.topic, payload: { outcome }, correlationId });
  }

  async #answerHere(requestId: string, answer: string): Promise<AnswerOutcome> {
    const question = this.#store.get(requestId);
    if (question === undefined) return 'unknown';
    if (!this.#store.answer(requestId, answer)) return 'answered-already';
    for (const wake of this.#waiting.get(requestId) ?? []) wake(answer);
    const { correlationId } = question;
    const topic = `agent.input.response.${escapeSegment(requestId)}`;
    await this.#bus.publish({ topic, payload: { requestId, correlationId, answer }, correlationId });
    return 'accepted';
  }

  pending(): Question[] {
    return this.#store.pending();
  }

  async #announce({ requestId, correlationId, question }: Question): Promise<void> {
    const topic = `agent.input.request.${escapeSegment(correlationId)}`;
    await this.#bus.publish({ topic, payload: { requestId, correlationId, question }, correlationId });
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
