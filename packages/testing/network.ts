import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** A TCP port of the loopback that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
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
