import type { Logger } from '@trunkline/config';

export interface ReceiverSettings {
  url: string;
  number: string;
  take(received: unknown): Promise<void>;
  /** The pause before the first new attempt; later ones are longer. */
  retryMs: number;
  logger: Logger;
}

const longestPauseMs = 60_000;

/** Listens to the bridge by a web socket, and connects again whenever it is cut. */
export class MessengerReceiver {
  readonly #settings: ReceiverSettings;
  #socket: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: ReceiverSettings) {
    this.#settings = settings;
  }

  start(): void {
    const { url, number, logger } = this.#settings;
    const address = `${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/v1/receive/${encodeURIComponent(number)}`;
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#failures = 0;
      logger.info('listening to the messenger');
    });
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)));
    socket.addEventListener('close', () => this.#again());
    // A close follows.
    socket.addEventListener('error', () =>
      logger.warn('the bridge of the messenger does not answer; check MESSENGER_URL'),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#socket?.close();
    await this.#turn;
  }

  /** One after the other, in the order in which they came. */
  #receive(data: string): void {
    const { take, logger } = this.#settings;
    this.#turn = this.#turn
      .then(() => take(JSON.parse(data)))
      .catch((error: unknown) =>
        logger.error({ err: error }, 'a message of the messenger could not be taken'),
      );
  }

  #again(): void {
    if (this.#stopped) return;
    const pause = Math.min(longestPauseMs, this.#settings.retryMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#timer = setTimeout(() => this.start(), pause);
  }
}
