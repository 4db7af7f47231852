import { errorMessage } from '@trunkline/std';
import type { BusLogger, Draft, Message } from '../port.ts';

const errorTopic = 'system.error';

export interface Failure {
  message: Message;
  pattern: string;
  plugin: string | undefined;
  error: unknown;
  attempt: number;
  durable?: string;
  /** True when the message was given up and lies among the dead letters. */
  buried?: boolean;
}

/** Tells of failed handlers: in the log, and as `system.error` unless it was a `system.error` that failed. */
export class FailureReporter {
  readonly #publish: (draft: Draft) => Promise<unknown>;
  readonly #logger: BusLogger;

  constructor(publish: (draft: Draft) => Promise<unknown>, logger: BusLogger) {
    this.#publish = publish;
    this.#logger = logger;
  }

  report(failure: Failure): void {
    const { message, error } = failure;
    const details = describe(failure);
    this.#logger.error({ ...details, err: error }, 'A subscriber failed');
    if (message.topic === errorTopic) return;
    this.#publish({
      topic: errorTopic,
      correlationId: message.correlationId,
      parentId: message.id,
      payload: { ...details, error: errorMessage(error) },
    }).catch((publishError: unknown) => {
      this.#logger.error({ ...details, err: publishError }, `${errorTopic} could not be published`);
    });
  }
}

function describe({ message, pattern, plugin, attempt, durable, buried }: Failure) {
  return {
    source: 'bus',
    ...(plugin === undefined ? {} : { plugin }),
    pattern,
    topic: message.topic,
    messageId: message.id,
    attempt,
    ...(durable === undefined ? {} : { durable }),
    ...(buried === undefined ? {} : { buried }),
  };
}
