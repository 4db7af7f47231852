import { connect, type Socket } from 'node:net';

export interface Client {
  /** Asks over all connections at once; gives the microseconds until the first frame of each answer was here. */
  many(method: string, count: number): Promise<number[]>;
  /** What the server says of itself at that path. */
  report(path: string): Promise<number>;
  close(): void;
}

/** Sockets and no HTTP library: on the same machine, what a library costs the client would hide what the server costs. */
export function createClient(port: number, connections: number): Client {
  const wires = Array.from({ length: connections }, () => new Wire(port));
  const [first] = wires;
  if (first === undefined) throw new Error('A client needs a connection.');
  return {
    async many(method, count) {
      const request = requestOf(method);
      const firstFrames: number[] = [];
      let left = count;
      const work = async (wire: Wire) => {
        while (left-- > 0) firstFrames.push((await wire.ask(request)).firstFrame);
      };
      await Promise.all(wires.map(work));
      return firstFrames;
    },
    report: async (path) => Number((await first.ask(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)).body),
    close() {
      for (const wire of wires) wire.close();
    },
  };
}

function requestOf(method: string): string {
  const message = { messageId: 'bench', role: 'ROLE_USER', parts: [{ text: 'Say hello to the bench' }] };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } });
  const head = [
    'POST /a2a HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/json',
    'a2a-version: 1.0',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

interface Answer {
  body: string;
  firstFrame: number;
}

/** One kept connection, one request at a time. */
class Wire {
  readonly #socket: Socket;
  #text = '';
  #startedAt = 0;
  #firstFrame = 0;
  #exchange: PromiseWithResolvers<Answer> | undefined;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true).setEncoding('latin1');
    this.#socket.on('data', (text) => this.#take(String(text)));
    this.#socket.on('close', () => this.#exchange?.reject(new Error('The server closed the connection.')));
  }

  ask(request: string): Promise<Answer> {
    this.#text = '';
    this.#firstFrame = 0;
    this.#exchange = Promise.withResolvers();
    this.#startedAt = performance.now();
    this.#socket.write(request, 'latin1');
    return this.#exchange.promise;
  }

  close(): void {
    this.#exchange = undefined;
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    if (this.#firstFrame === 0 && this.#text.includes('\ndata:')) {
      this.#firstFrame = (performance.now() - this.#startedAt) * 1000;
    }
    const body = wholeBody(this.#text);
    if (body === undefined) return;
    // An error would be quicker than the work it replaces.
    if (isGood(body)) this.#exchange?.resolve({ body, firstFrame: this.#firstFrame });
    else this.#exchange?.reject(new Error(this.#text));
  }
}

/** Undefined while more is to come. */
function wholeBody(answer: string): string | undefined {
  const end = answer.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const body = answer.slice(end + 4);
  const [, length] = /content-length: (\d+)/i.exec(answer.slice(0, end)) ?? [];
  const whole = length === undefined ? body.endsWith('\r\n0\r\n\r\n') : body.length >= Number(length);
  return whole ? body : undefined;
}

function isGood(body: string): boolean {
  return body.includes('TASK_STATE_COMPLETED') || /^\d+$/.test(body);
}
