import { type Bus, escapeSegment } from '@trunkline/bus';
import type { Question, QuestionStore } from './question-store.ts';

export type AnswerOutcome = 'accepted' | 'unknown' | 'answered-already';

/** Brings questions of agents to people and their answers back; both outlive a restart. */
export class HumanDesk {
  readonly #store: QuestionStore;
  readonly #bus: Bus;
  readonly #waiting = new Map<string, Set<(answer: string) => void>>();

  constructor(store: QuestionStore, bus: Bus) {
    this.#store = store;
    this.#bus = bus;
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

  async answer(requestId: string, answer: string): Promise<AnswerOutcome> {
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
