import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

export interface Step {
  /** The type of a client's message, or `audio` for a binary one; others before it are passed over. */
  after: string;
  /** Sent first, as it is. */
  text?: string;
  send?: object[];
  /** Sends each message in so many frames. */
  split?: number;
  close?: { code: number; reason: string };
  /** Cuts the line without a word. */
  cut?: boolean;
}

interface LiveServerOptions {
  /** What each connection plays, in their order. */
  connections: { steps: Step[] }[];
  /** The status with which every connection is refused. */
  refuses?: number | undefined;
  /** The only path that opens; default: all do. */
  path?: string;
  /** Leaves connections waiting. */
  stalls?: boolean;
}

interface LiveServer {
  url: string;
  /** The connections that were asked for. */
  asked: { path: string; authorization: string | undefined }[];
  /** What clients said: JSON, or the bytes of sound. */
  received: ({ type: string } & Record<string, unknown>)[];
  /** Whole utterances that were sent, by path. */
  whole: string[];
  stop(): Promise<void>;
}

/** A transcription endpoint on a real WebSocket server, which plays written traffic. */
export async function startLiveServer(options: LiveServerOptions): Promise<LiveServer> {
  const { connections, refuses, path, stalls = false } = options;
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void response.writeHead(refuses ?? 404).end();
    state.whole.push(request.url ?? '');
    request.resume().on('end', () => {
      const channels = [{ alternatives: [{ transcript: 'All of it.', confidence: 1 }] }];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ text: 'All of it.', results: { channels } }));
    });
  });
  const sockets = new WebSocketServer({ noServer: true });
  const scripts = connections.values();
  const streams = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    streams.add(stream);
    const { url = '', headers } = request;
    // Another test's client may still look for a server that had this port before.
    if (!/^\/v1\/(?:listen|realtime)\b/.test(url)) return void stream.destroy();
    state.asked.push({ path: url, authorization: headers.authorization });
    stream.on('error', () => stream.destroy());
    if (stalls) return;
    const isKnown = path === undefined || url.startsWith(`${path}?`);
    const status = refuses ?? (isKnown ? undefined : 404);
    if (status !== undefined)
      return void stream.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`);
    sockets.handleUpgrade(request, stream, head, (socket) =>
      play(socket, [...(scripts.next().value?.steps ?? [])], state.received),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const state: LiveServer = {
    url: `http://127.0.0.1:${port}/v1`,
    asked: [],
    received: [],
    whole: [],
    async stop() {
      for (const stream of streams) stream.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return state;
}

function play(socket: WebSocket, steps: Step[], received: LiveServer['received']): void {
  socket.on('message', (data, isBinary) => {
    const bytes = data as Buffer;
    const message: LiveServer['received'][number] = isBinary
      ? { type: 'audio', bytes }
      : JSON.parse(bytes.toString());
    received.push(message);
    if (message.type !== steps[0]?.after) return;
    const { text, send = [], split = 1, close, cut = false } = steps.shift() as Step;
    if (text !== undefined) socket.send(text);
    for (const each of send) sendInFrames(socket, JSON.stringify(each), split);
    if (close !== undefined) socket.close(close.code, close.reason);
    if (cut) socket.terminate();
  });
}

function sendInFrames(socket: WebSocket, text: string, frames: number): void {
  const bytes = Buffer.from(text);
  const size = Math.ceil(bytes.length / frames);
  for (let at = 0; at < bytes.length; at += size)
    socket.send(bytes.subarray(at, at + size), { binary: false, fin: at + size >= bytes.length });
}
