import type { Entry } from '../delivery/attempts.ts';
import { unknownDeadLetter } from '../errors.ts';
import { deepFreeze } from '../message.ts';
import type { DeadLetter, Message } from '../port.ts';
import { found } from './jetstream-errors.ts';
import { readStream, stateOf } from './nats-history.ts';
import type { Outbox } from './outbox.ts';
import { type Resources, subjectOf } from './resources.ts';

const listed = 1000;
const longestError = 1000;
/** With the rest of the letter it must fit beside the largest message. */
const mostErrorBytes = 3000;

type StoredLetter = Omit<DeadLetter, 'id'>;

/** Dead letters, in a stream of their own. */
export class NatsDeadLetters {
  readonly #resources: Resources;
  readonly #outbox: Outbox;
  readonly #prefix: string;

  constructor(resources: Resources, outbox: Outbox, prefix: string) {
    this.#resources = resources;
    this.#outbox = outbox;
    this.#prefix = prefix;
  }

  /** Storing the same one again, after a crash before it was acknowledged, changes nothing. */
  async bury(name: string, { position, message }: Entry, attempts: number, error: string): Promise<void> {
    const letter: StoredLetter = {
      durable: name,
      attempts,
      error: shortened(error),
      buriedAt: Date.now(),
      message,
    };
    const key = `dead ${name} ${position}`;
    await this.#outbox.send({
      subject: this.#resources.deadSubject(name),
      text: JSON.stringify(letter),
      key,
    });
  }

  async list(): Promise<DeadLetter[]> {
    const { deadLetters: stream } = this.#resources;
    const { first_seq, last_seq } = await stateOf(this.#resources, stream);
    const letters: DeadLetter[] = [];
    const from = Math.max(first_seq, last_seq - listed + 1);
    for await (const stored of readStream(this.#resources, { stream, from, until: last_seq })) {
      letters.push(letterOf(stored.seq, stored.json<StoredLetter>()));
    }
    return letters;
  }

  /** Puts the letter into the journal again, for its name alone, and takes it off the list. */
  async replay(id: string): Promise<void> {
    const { deadLetters: stream, manager } = this.#resources;
    const sequence = Number(id);
    const stored =
      Number.isSafeInteger(sequence) &&
      sequence > 0 &&
      (await found(manager.streams.getMessage(stream, { seq: sequence })));
    if (!stored) throw unknownDeadLetter(id);
    const { durable, message } = stored.json<StoredLetter>();
    await this.#outbox.send(this.#replayed(message, durable, id));
    await manager.streams.deleteMessage(stream, sequence);
  }

  #replayed(message: Message, durable: string, id: string) {
    const subject = subjectOf(this.#prefix, message.topic);
    return { subject, text: JSON.stringify(message), key: `replay ${id}`, onlyFor: durable };
  }
}

/** Control characters take six bytes each in JSON. */
function shortened(error: string): string {
  let text = error.slice(0, longestError);
  while (Buffer.byteLength(JSON.stringify(text)) > mostErrorBytes) text = text.slice(0, text.length / 2);
  return text;
}

function letterOf(sequence: number, letter: StoredLetter): DeadLetter {
  return deepFreeze({ id: String(sequence), ...letter });
}
