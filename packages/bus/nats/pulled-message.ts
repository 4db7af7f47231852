import { type Msg, type MsgHdrs, nanos } from '@nats-io/transport-node';

/** A message of a JetStream consumer; what becomes of it is told on its reply subject. */
export class PulledMessage {
  readonly position: number;
  readonly redelivered: boolean;
  readonly #message: Msg;

  constructor(message: Msg) {
    this.#message = message;
    const { deliveries, sequence } = deliveryInfo(message.reply ?? '');
    this.position = sequence;
    this.redelivered = deliveries > 1;
  }

  get subject(): string {
    return this.#message.subject;
  }

  get headers(): MsgHdrs | undefined {
    return this.#message.headers;
  }

  string(): string {
    return this.#message.string();
  }

  /** It is done with. */
  finish(): void {
    this.#message.respond('+ACK');
  }

  /** It must not come again. */
  refuse(): void {
    this.#message.respond('+TERM');
  }

  /** It is not done with and may go to another. */
  handBack(delayMs = 0): void {
    this.#message.respond(delayMs === 0 ? '-NAK' : `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`);
  }

  /** It is still being worked on. */
  showLife(): void {
    this.#message.respond('+WPI');
  }
}

/** `$JS.ACK.stream.consumer.deliveries.sequence...`; servers with domains put two more tokens before the stream. */
function deliveryInfo(reply: string): { deliveries: number; sequence: number } {
  const tokens = reply.split('.');
  const first = tokens.length > 9 ? 6 : 4;
  return { deliveries: Number(tokens[first]), sequence: Number(tokens[first + 1]) };
}
