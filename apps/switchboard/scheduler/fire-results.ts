import type { Bus, Message } from '@trunkline/bus';
import type { Clock } from '@trunkline/schedule';
import { fieldsOf, text } from '../dispatch/request.ts';

/** How the work that a fire set off ended. */
export interface Outcome {
  status: 'done' | 'failed';
  detail: string | null;
}

export interface OutcomeSettings {
  bus: Bus;
  clock: Clock;
  /** How long an outcome is waited for. */
  limitMs: number;
  /** Told of outcomes that nobody here waits for. */
  onStray: (fireId: string, outcome: Outcome) => void;
}

interface Expectation {
  settle: (outcome: Outcome | undefined) => void;
}

/** Answers may come in by the thousand when many schedules fire together. */
const queueLimit = 100_000;
const fireIdForm = /^[a-z0-9][a-z0-9.-]*@\d{4}-\d\d-\d\dT[\d:.]+Z(#now)?$/;

/** Watches the answers to what schedules have set off; a fire's id is the correlation of all that follows from it. */
export class FireResults {
  readonly #settings: OutcomeSettings;
  readonly #expected = new Map<string, Expectation>();

  constructor(settings: OutcomeSettings) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const options = { plugin: 'scheduler', queueLimit };
    const handle = (message: Message) => this.#take(message);
    await this.#settings.bus.subscribe('agent.skill.response.*', handle, options);
    await this.#settings.bus.subscribe('dispatch.dropped.*', handle, options);
    // The same answer on its way out: whoever began to watch between the two sees this one.
    const reply = (message: Message) => {
      if (text(fieldsOf(message.payload).taskState) !== undefined) this.#take(message);
    };
    await this.#settings.bus.subscribe('message.outbound.#', reply, options);
  }

  /** The outcome of a fire; undefined when none came in time. */
  expect(fireId: string, limitMs = this.#settings.limitMs): Promise<Outcome | undefined> {
    const { promise, resolve } = Promise.withResolvers<Outcome | undefined>();
    const timer = this.#settings.clock.setTimer(limitMs, () => settle(undefined));
    const settle = (outcome: Outcome | undefined) => {
      timer.cancel();
      this.#expected.delete(fireId);
      resolve(outcome);
    };
    this.#expected.set(fireId, { settle });
    return promise;
  }

  /** Looks into the journal for an answer that came while nobody watched. */
  async past(fireId: string): Promise<Outcome | undefined> {
    const query = { correlationId: fireId, topic: 'message.outbound.#', limit: 10 };
    const answers = await this.#settings.bus.history(query);
    const answer = answers.find(({ message }) => text(fieldsOf(message.payload).taskState) !== undefined);
    return answer && outcomeOf(answer.message);
  }

  /** Says how a fire ended that is waited for. */
  resolve(fireId: string, outcome: Outcome): void {
    this.#expected.get(fireId)?.settle(outcome);
  }

  /** Nobody needs to wait any longer. */
  close(): void {
    for (const { settle } of [...this.#expected.values()]) settle(undefined);
  }

  #take(message: Message): void {
    const { correlationId } = message;
    if (!fireIdForm.test(correlationId)) return;
    const outcome = outcomeOf(message);
    const expected = this.#expected.get(correlationId);
    if (expected === undefined) this.#settings.onStray(correlationId, outcome);
    else expected.settle(outcome);
  }
}

function outcomeOf({ payload }: Message): Outcome {
  const fields = fieldsOf(payload);
  const problem = text(fields.error) ?? text(fields.why);
  return problem === undefined ? { status: 'done', detail: null } : { status: 'failed', detail: problem };
}
