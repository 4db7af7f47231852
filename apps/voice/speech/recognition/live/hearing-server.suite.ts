import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { toMono } from '../../audio/resample.ts';
import { samplesOf, toFloat32 } from '../../audio/samples.ts';

interface HearingServer {
  url: string;
  /** Paths of the connections that were opened. */
  opened: string[];
  /** Whole utterances that were sent by POST, for want of a connection. */
  whole: number;
  /** Seconds of sound that came over connections. */
  seconds: number;
  stop(): Promise<void>;
}

/** A transcription endpoint for live speech, at /listen as Deepgram has it and at /realtime as OpenAI has it, that hears what is sent. */
export async function startHearingServer(
  hear: (samples: Float32Array) => Promise<string>,
): Promise<HearingServer> {
  const server = createServer((request, response) => {
    if (request.method === 'POST') state.whole += 1;
    request.resume();
    response.writeHead(503).end();
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, { url = '' }) => {
    state.opened.push(url);
    const answer = url.startsWith('/v1/listen')
      ? deepgram(hear, (seconds) => (state.seconds += seconds))
      : realtime(hear, (seconds) => (state.seconds += seconds));
    // One message after the other, as an endpoint would.
    let last: Promise<void> = Promise.resolve();
    socket.on('message', (data, isBinary) => {
      last = last.then(() => answer(socket, data as Buffer, isBinary)).catch(() => socket.close(1011));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const state: HearingServer = {
    url: `http://127.0.0.1:${port}/v1`,
    opened: [],
    whole: 0,
    seconds: 0,
    async stop() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return state;
}

type Hear = (samples: Float32Array) => Promise<string>;
type Answer = (socket: WebSocket, data: Buffer, isBinary: boolean) => Promise<void>;

function deepgram(hear: Hear, onSound: (seconds: number) => void): Answer {
  const rate = 16_000;
  let [pending, from] = [Buffer.alloc(0), 0];
  return async (socket, data, isBinary) => {
    if (isBinary) {
      pending = Buffer.concat([pending, data]);
      onSound(data.length / 2 / rate);
      return;
    }
    if (JSON.parse(data.toString()).type !== 'Finalize') return;
    const duration = pending.length / 2 / rate;
    const transcript = await hear(toFloat32(samplesOf(pending)));
    const result = { channel: { alternatives: [{ transcript }] }, is_final: true, from_finalize: true };
    socket.send(JSON.stringify({ type: 'Results', start: from, duration, ...result }));
    [pending, from] = [Buffer.alloc(0), from + duration];
  };
}

function realtime(hear: Hear, onSound: (seconds: number) => void): Answer {
  const rate = 24_000;
  let [pending, items] = [Buffer.alloc(0), 0];
  return async (socket, data) => {
    const event = JSON.parse(data.toString()) as { type: string; audio?: string };
    const send = (message: object) => socket.send(JSON.stringify(message));
    if (event.type === 'session.update') send({ type: 'session.updated' });
    else if (event.type === 'input_audio_buffer.clear') pending = Buffer.alloc(0);
    else if (event.type === 'input_audio_buffer.append') {
      const bytes = Buffer.from(event.audio ?? '', 'base64');
      pending = Buffer.concat([pending, bytes]);
      onSound(bytes.length / 2 / rate);
    } else if (event.type === 'input_audio_buffer.commit') {
      items += 1;
      const [item, heard] = [{ item_id: `item_${items}` }, pending];
      pending = Buffer.alloc(0);
      send({ type: 'input_audio_buffer.committed', ...item });
      const sound = { channels: [toFloat32(samplesOf(heard))], sampleRate: rate };
      const transcript = await hear(await toMono(sound, 16_000));
      send({ type: 'conversation.item.input_audio_transcription.completed', ...item, transcript });
    }
  };
}
