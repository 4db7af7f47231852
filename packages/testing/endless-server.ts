import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const megabyte = 'x'.repeat(2 ** 20);

interface EndlessAnswer {
  type?: string;
  begins: string;
  /** As much as this is there, and nobody should read so much. */
  megabytes: number;
}

export function endlessAnswer({ type = 'application/json', begins, megabytes }: EndlessAnswer) {
  const hungUp = Promise.withResolvers<void>();
  let sent = 0;
  return {
    answer(response: ServerResponse): void {
      response.once('close', () => hungUp.resolve());
      response.writeHead(200, { 'content-type': type }).write(begins);
      const write = () => {
        while (!response.destroyed && sent < megabytes) {
          sent += 1;
          if (!response.write(megabyte)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    },
    /** Resolves with the megabytes that were taken. */
    async taken(): Promise<number> {
      await hungUp.promise;
      return sent;
    },
  };
}

/** Answers everything so. */
export async function startEndlessServer(given: EndlessAnswer) {
  const { answer, taken } = endlessAnswer(given);
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
