import { acceptSocket, type ServerSocket } from '../discord/web-socket.ts';
import { JsonServer } from '../json-server.ts';

/** A bridge to Signal, as signal-cli's REST API is: a web socket that brings messages, and a door to send them. */
export class FakeSignal {
  readonly server = new JsonServer();
  readonly sent: { number: string; recipients: string[]; message: string; base64_attachments?: string[] }[] =
    [];
  /** Files that came with messages, by their id. */
  readonly attachments = new Map<string, Buffer>();
  readonly #sockets = new Set<ServerSocket>();
  connections = 0;

  static async start(number: string): Promise<FakeSignal> {
    const fake = new FakeSignal();
    fake.server.on('POST /v2/send', ({ body }) => {
      const letter = body as (typeof fake.sent)[number];
      if (letter.number !== number)
        return { status: 400, body: { error: 'Specified account does not exist' } };
      fake.sent.push(letter);
      return { status: 201, body: { timestamp: String(Date.now()) } };
    });
    fake.server.on('GET /v1/attachments/:id', (_, { id = '' }) => {
      const bytes = fake.attachments.get(id);
      return bytes === undefined ? { status: 404, body: { error: 'No attachment found' } } : { body: bytes };
    });
    fake.server.on('GET /v1/about', () => ({ body: { versions: ['v1', 'v2'], mode: 'json-rpc' } }));
    fake.server.onUpgrade((request, stream) => {
      if (decodeURIComponent(request.url ?? '') !== `/v1/receive/${number}`) return void stream.destroy();
      fake.connections += 1;
      const onClose = () => void fake.#sockets.delete(socket);
      const socket = acceptSocket(request, stream, { onMessage: () => undefined, onClose });
      fake.#sockets.add(socket);
    });
    await fake.server.listen();
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  /** Brings a text to whoever listens. */
  receive(envelope: object): void {
    for (const socket of this.#sockets) socket.send({ envelope, account: '+1' });
  }

  cut(): void {
    for (const socket of this.#sockets) socket.cut();
  }

  async stop(): Promise<void> {
    this.cut();
    await this.server.stop();
  }
}
