import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

const proofMs = 3_000;
/** Headers of one connection only. */
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding'];

export interface OtherDoor {
  host: string;
  port: number;
  key: string;
}

/** What a door says to show that it knows the key, without telling it. */
export function proofOf(key: string, challenge: string): string {
  return createHmac('sha256', key).update(`model door ${challenge}`).digest('hex');
}

/** Whether whoever listens there knows the key. */
export async function provesKey(door: OtherDoor): Promise<boolean> {
  const agent = new Agent({ keepAlive: false });
  return (await provenSocket(agent, door)) !== undefined;
}

/**
 * Passes a request on to the door of another service. It goes over the connection at whose end the key was proven, so
 * that whoever takes the port in the meantime gets neither the key nor the words. Undefined, with the body unread, when
 * nobody there knows the key.
 */
export async function relay(given: Request, door: OtherDoor): Promise<Response | undefined> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const socket = await provenSocket(agent, door);
    if (socket === undefined) {
      agent.destroy();
      return undefined;
    }
    const type = given.headers.get('content-type');
    const options = {
      method: given.method,
      path: new URL(given.url).pathname,
      headers: { authorization: `Bearer ${door.key}`, ...(type !== null && { 'content-type': type }) },
      signal: given.signal,
    };
    const body = Buffer.from(await given.arrayBuffer());
    const answer = await send(agent, door, { ...options, body, socket });
    answer.once('close', () => agent.destroy());
    return toResponse(answer);
  } catch (error) {
    agent.destroy();
    throw error;
  }
}

async function provenSocket(agent: Agent, door: OtherDoor): Promise<Socket | undefined> {
  const challenge = randomBytes(16).toString('hex');
  try {
    const signal = AbortSignal.timeout(proofMs);
    const answer = await send(agent, door, { path: `/proof/${challenge}`, signal });
    const { socket } = answer;
    const said = Buffer.from(await text(answer));
    const expected = Buffer.from(proofOf(door.key, challenge));
    return said.length === expected.length && timingSafeEqual(said, expected) ? socket : undefined;
  } catch {
    // Nobody listens there, or whoever does speaks no HTTP, or not in time: it is not ours.
    return undefined;
  }
}

interface Sending extends RequestOptions {
  body?: Buffer;
  /** The only connection over which it may go. */
  socket?: Socket;
}

async function send(
  agent: Agent,
  { host, port }: OtherDoor,
  { body, socket, ...options }: Sending,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({ agent, host, port, ...options }, resolve);
  sent.on('error', reject);
  // Nothing is written before the end of the request is known.
  sent.once('socket', (used) => {
    if (socket !== undefined && used !== socket) sent.destroy(new Error('the connection was closed'));
    else sent.end(body);
  });
  return await promise;
}

function toResponse(answer: IncomingMessage): Response {
  const headers = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    ofConnection.includes(name) ? [] : [value ?? []].flat().map((each) => [name, each]),
  );
  const body = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
  return new Response(body, { status: answer.statusCode ?? 502, headers });
}
