// Run as a child: answers offers with an echo, with our layer as shipped, with our layer and the library in its own process
// ("in-process"), or with the bare library ("plain"), and says what that costs.
import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { createLogger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import { systemClock } from '@trunkline/schedule';
import type { Line } from '../../apps/voice/call/line.ts';
import { Calls } from '../../apps/voice/media/calls.ts';
import { LineCapacity } from '../../apps/voice/media/line-capacity.ts';
import { loadProcessPeers } from '../../apps/voice/media/peer-process.ts';
import { loadWrtc, loadWrtcPeers } from '../../apps/voice/media/wrtc-peer.ts';
import { StreamResampler } from '../../apps/voice/speech/audio/resample.ts';
import { defaultUser } from '../../apps/voice/users/user.ts';
import { cpuOfTree, residentOfTree } from '../agent/processes.ts';

type Answer = (sdp: string) => Promise<string>;

export interface Usage {
  /** Work of the processor since the start, in milliseconds, with that of the WebRTC process. */
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
const counts = { late: 0, calls: 0 };

const [, , side] = process.argv;
const answer = side === 'plain' ? plain : ours();
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
  const logger = createLogger({ name: 'bench', level: 'ERROR' });
  const calls = new Calls({
    loadPeers: side === 'in-process' ? loadWrtcPeers : () => loadProcessPeers(logger),
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
    logger,
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
  const wrtc = await loadWrtc();
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
  return {
    cpuMs: cpuOfTree(process.pid),
    atMs: performance.now(),
    rssMegabytes: residentOfTree(process.pid),
    lateFrames: counts.late,
    calls: counts.calls,
  };
}
