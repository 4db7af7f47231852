// The process that holds the WebRTC connections: where the library crashes, it ends this process alone.
import { Socket } from 'node:net';
import { errorMessage } from '@trunkline/std';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { AudioPipe } from './audio-pipe.ts';
import { type Channel, largestMessage, type Peer, type PeerMaker, type PeerState } from './peer.ts';
import { audioDescriptor, type HostMessage, type HostRequest } from './peer-messages.ts';
import { loadWrtcPeers } from './wrtc-peer.ts';

/** The library's event may come before its state changes, so the state is also looked at this often. */
const lookEveryMs = 200;
/** Asking a channel what it has buffered is slow. */
const reportEvery = 256 * 1024;
/** A call ends while this many messages of its caller wait for a parent that does not read, or when so many come at once. */
const mostMessages = 500;
/** A page sends a few: whoever sends more for long keeps the service from other calls. */
const messagesPerSecond = 50;
/** A page has one or two. */
const mostChannels = 16;

interface Held {
  peer: Peer;
  state: PeerState;
  channels: Map<number, Channel>;
  /** Characters sent since the parent was told what is buffered. */
  unreported: number;
  /** Channels with much buffered: the parent sends nothing more there until it reads that they have drained. */
  full: Set<number>;
}

const held = new Map<number, Held>();
let channelCount = 0;
const socket = new Socket({ fd: audioDescriptor });
const sound = new AudioPipe(socket, (id, frame) => playSafely(id, frame));

// Ctrl+C reaches this process too. It ends when its parent does, so that the parent can close its calls first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', end);
// Calls without sound are lost: the parent starts another process for the next.
socket.once('close', end);
loadWrtcPeers().then(
  (makePeer) => {
    process.on('message', (request: HostRequest) => handleSafely(makePeer, request));
    setInterval(() => {
      for (const [id, { full }] of held) {
        reportState(id);
        for (const channel of full) reportBuffered(id, channel);
      }
    }, lookEveryMs);
    tell({ type: 'ready' });
  },
  (error: unknown) => tell({ type: 'failed', reason: errorMessage((error as Error).cause ?? error) }),
);

function end(): void {
  for (const { peer } of held.values()) peer.close();
  process.exit();
}

/** An error in one call ends that call, and no other. */
function handleSafely(makePeer: PeerMaker, request: HostRequest): void {
  try {
    handle(makePeer, request);
  } catch (error) {
    giveUp(request.peer, errorMessage(error));
  }
}

function playSafely(id: number, frame: AudioFrame): void {
  try {
    held.get(id)?.peer.play(frame);
  } catch (error) {
    giveUp(id, errorMessage(error));
  }
}

function giveUp(id: number, reason: string): void {
  held.get(id)?.peer.close();
  held.delete(id);
  tell({ type: 'broken', peer: id, reason });
}

function handle(makePeer: PeerMaker, request: HostRequest): void {
  if (request.type === 'create') {
    held.set(request.peer, create(makePeer, request));
    return;
  }
  const found = held.get(request.peer);
  if (found === undefined) {
    if ('request' in request)
      tell({ type: 'refused', request: request.request, reason: 'the connection is closed' });
    return;
  }
  const { peer } = found;
  if (request.type === 'send') send(found, request);
  else if (request.type === 'answer') reply(request.request, peer.answer(request.sdp));
  else if (request.type === 'candidate')
    reply(
      request.request,
      peer.addCandidate(request.candidate).then(() => 0),
    );
  else if (request.type === 'count') reply(request.request, peer.packetsReceived());
  else {
    held.delete(request.peer);
    peer.close();
  }
}

function create(makePeer: PeerMaker, request: Extract<HostRequest, { type: 'create' }>): Held {
  const id = request.peer;
  const channels = new Map<number, Channel>();
  const full = new Set<number>();
  let unread = 0;
  let [allowed, countedAt] = [mostMessages, performance.now()];
  /** Whether the caller may send one more now. */
  const allowsOneMore = () => {
    const now = performance.now();
    allowed = Math.min(mostMessages, allowed + ((now - countedAt) * messagesPerSecond) / 1000) - 1;
    countedAt = now;
    return allowed >= 0;
  };
  const numberOf = (channel: Channel) => [...channels].find(([, known]) => known === channel)?.[0] ?? -1;
  const peer = makePeer(request.settings, {
    stateChanged: () => reportState(id),
    audio: (frame) => sound.send(id, frame),
    channelOpened: (channel) => {
      if (channels.size >= mostChannels || !allowsOneMore())
        return giveUp(id, 'the caller opens more channels than a call has');
      channelCount += 1;
      channels.set(channelCount, channel);
      tell({ type: 'opened', peer: id, channel: channelCount, madeBy: channel.madeBy });
    },
    channelClosed: (channel) => {
      const number = numberOf(channel);
      channels.delete(number);
      full.delete(number);
      tell({ type: 'closed', peer: id, channel: number });
    },
    message: (channel, message) => {
      unread += 1;
      if (unread > mostMessages || !allowsOneMore())
        giveUp(id, 'the caller sent more messages than were read');
      else
        tell({ type: 'message', peer: id, channel: numberOf(channel), message: shortened(message) }, () => {
          unread -= 1;
        });
    },
  });
  return { peer, state: 'connecting', channels, unreported: 0, full };
}

/** The parent refuses binary and oversized messages: as much goes there as it needs to see that. */
function shortened(message: string | ArrayBuffer): string | ArrayBuffer {
  return typeof message === 'string' ? message.slice(0, largestMessage + 1) : new ArrayBuffer(0);
}

function send(found: Held, { peer, channel: number, text }: Extract<HostRequest, { type: 'send' }>): void {
  found.channels.get(number)?.send(text);
  found.unreported += text.length;
  if (found.unreported < reportEvery) return;
  found.unreported = 0;
  reportBuffered(peer, number);
}

function reportBuffered(peer: number, number: number): void {
  const { channels, full } = held.get(peer) ?? {};
  const channel = channels?.get(number);
  if (channel === undefined) return;
  const bytes = channel.waiting;
  if (bytes < reportEvery) full?.delete(number);
  else full?.add(number);
  tell({ type: 'buffered', peer, channel: number, bytes });
}

function reportState(id: number): void {
  const found = held.get(id);
  const state = found?.peer.state;
  if (found === undefined || state === undefined || state === found.state) return;
  found.state = state;
  tell({ type: 'state', peer: id, state });
}

function reply(request: number, result: Promise<string | number>): void {
  result.then(
    (value) => tell({ type: 'reply', request, result: value }),
    (error: unknown) =>
      tell({ type: 'refused', request, reason: errorMessage((error as Error).cause ?? error) }),
  );
}

function tell(message: HostMessage, onSent?: () => void): void {
  if (process.connected) process.send?.(message, () => onSent?.());
}
