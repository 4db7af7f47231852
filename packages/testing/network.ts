import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createServer, type Server } from 'node:net';

/** Systems give ports to connections, and to listeners that name none, from 32768 upwards: not from here. */
const firstPort = 12_000;
const endOfPorts = 32_000;
const portTries = 1000;

/**
 * A TCP port of the loopback that nobody listens on, and that nobody else gets while this process runs: a server that is
 * killed can be started there again. The odd port above it is listened on, which tells other processes that it is taken.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < portTries; tries += 1) {
    const port = 2 * randomInt(firstPort / 2, endOfPorts / 2);
    const mark = await listenOn(port + 1);
    if (mark === undefined) continue;
    const server = await listenOn(port);
    if (server !== undefined) {
      server.close();
      await once(server, 'close');
      return port;
    }
    mark.close();
  }
  throw new Error(`No free port was found between ${firstPort} and ${endOfPorts}.`);
}

/** Keeps no process alive. Undefined where somebody listens already. */
async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    await once(server.listen({ port, host: '127.0.0.1', exclusive: true }), 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

const BODIES = ['POST', 'PUT', 'PATCH', 'ALL'];
/** Keeps connections: a new one for every request is a third of the work. */
const connections = new Agent({ keepAlive: true });

/** The status of a request that does nothing where it is let in: its body is of no use. ALL, of lists of routes, is POST. */
export function statusOf(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: method === 'ALL' ? 'POST' : method,
      headers: { 'content-type': 'application/json', ...headers },
      agent: connections,
    });
    sent.once('response', (response) => {
      passOver(response);
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', (error: NodeJS.ErrnoException) => {
      // The service closed a connection that was idle, just before it was used again.
      if (sent.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? ''))
        resolve(statusOf(url, method, headers));
      else reject(error);
    });
    sent.end(BODIES.includes(method) ? '"nothing"' : undefined);
  });
}

/** A stream has no end. */
function passOver(response: IncomingMessage): void {
  if (response.headers['content-type']?.includes('event-stream')) response.destroy();
  else response.resume();
}
