// Run as a child: answers offers with an echo, once with our layer and once with the bare library, and says what that costs.
import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { createLogger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import { systemClock } from '@trunkline/schedule';
import type { Line } from '../../apps/voice/call/line.ts';
import { Calls } from '../../apps/voice/media/calls.ts';
import { LineCapacity } from '../../apps/voice/media/line-capacity.ts';
import { loadWrtc, loadWrtcPeers } from '../../apps/voice/media/wrtc-peer.ts';
import { StreamResampler } from '../../apps/voice/speech/audio/resample.ts';
import { defaultUser } from '../../apps/voice/users/user.ts';

type Answer = (sdp: string) => Promise<string>;

export interface Usage {
  /** Work of the processor since the start, in milliseconds. */
  cpuMs: number;
  atMs: number;
  rssMegabytes: number;
  lateFrames: number;
  calls: number;
}

const rate = 48_000;
/** Sound goes back in pieces of 200 ms, as synthesizers give it. */
const pieceSamples = rate / 5;
/** They are always further than what is heard. */
const piecesAhead = 2;
const wrtc = await loadWrtc();
const counts = { late: 0, calls: 0 };

const answer = process.argv[2] === 'ours' ? ours() : plain;
const server = createServer((request, response) => {
  respond(request).then(
    (body) => response.end(body),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
process.on('message', () => process.send?.(usage()));

async function respond(request: IncomingMessage): Promise<string> {
  const { sdp } = (await json(request)) as { sdp: string };
  return JSON.stringify({ sdp: await answer(sdp) });
}

/** Our layer: paced speech out, sound for recognition at 16 kHz in. */
function ours(): Answer {
  const calls = new Calls({
    loadPeers: loadWrtcPeers,
    settings: { iceServers: [], portRange: undefined },
    lines: new LineCapacity({ maxCalls: 100, maxLoad: 0 }),
    converse: echo,
    observer: {
      connected: () => add('calls', 1),
      ended: () => add('calls', -1),
      framesLate: (frames) => add('late', frames),
    },
    clock: systemClock,
    mediaClock: systemClock,
    logger: createLogger({ name: 'bench', level: 'ERROR' }),
  });
  return async (sdp) => {
    const offer = { sdp, id: undefined, restart: false, requestData: undefined };
    return (await calls.offer(offer, { user: defaultUser, principal: anonymous, stillStands: () => true }))
      .sdp;
  };
}

function add(name: keyof typeof counts, count: number): void {
  counts[name] += count;
}

function echo(line: Line): void {
  const recognition = new StreamResampler(16_000);
  let [piece, filled, pieces] = [new Int16Array(pieceSamples), 0, 0];
  const early: Int16Array[] = [];
  line.onAudio(({ samples, sampleRate }) => {
    recognition.push({ samples, sampleRate });
    if (sampleRate !== rate) return;
    piece.set(samples, filled);
    filled += samples.length;
    if (filled < pieceSamples) return;
    early.push(piece);
    [piece, filled, pieces] = [new Int16Array(pieceSamples), 0, pieces + 1];
    if (pieces < piecesAhead) return;
    for (const ready of early.splice(0)) line.speaker.enqueue({ samples: ready, sampleRate });
  });
}

/** The library alone: each frame that comes goes back at once. */
async function plain(sdp: string): Promise<string> {
  const connection = new wrtc.RTCPeerConnection();
  await connection.setRemoteDescription({ type: 'offer', sdp });
  const source = new wrtc.nonstandard.RTCAudioSource();
  const track = source.createTrack();
  const [transceiver] = connection.getTransceivers();
  if (transceiver === undefined) throw new Error('The offer has no line.');
  transceiver.direction = 'sendrecv';
  await transceiver.sender.replaceTrack(track);
  const sink = new wrtc.nonstandard.RTCAudioSink(transceiver.receiver.track);
  sink.addEventListener('data', (event) => source.onData(event as never));
  const channel = connection.createDataChannel('chat');
  counts.calls += 1;
  channel.addEventListener('close', () => {
    counts.calls -= 1;
    sink.stop();
    track.stop();
    connection.close();
  });
  await connection.setLocalDescription(await connection.createAnswer());
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  return connection.localDescription?.sdp ?? '';
}

function usage(): Usage {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  return {
    cpuMs: (user + system) / 1000,
    atMs: performance.now(),
    rssMegabytes: process.memoryUsage().rss / 1024 ** 2,
    lateFrames: counts.late,
    calls: counts.calls,
  };
}
