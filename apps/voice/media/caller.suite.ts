import { waitFor } from '@trunkline/testing';
import { onTestFinished } from 'vitest';
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { TestVoice } from '../voice.suite.ts';
import { hasCandidates } from './peer.ts';
import { loadWrtc } from './wrtc-peer.ts';

const { RTCPeerConnection, nonstandard } = await loadWrtc();

const frameSamples = 480;
const rate = 48_000;

export interface CallerSetup {
  key?: string;
  /** Who opens the data channel: the server in an offer that has its line, the client itself, or nobody. */
  channel?: 'server' | 'client' | 'none';
  video?: boolean;
  /** Sends candidates as they are found instead of all at once. */
  trickle?: boolean;
  configuration?: RTCConfiguration;
  /** More of the body of the offer. */
  body?: object;
  /** What the microphone gives, as a tone in hertz; nothing is sent where it is null. */
  tone?: number | null;
  /** Samples at 48 kHz that the microphone gives once instead, with silence after them. */
  sound?: Int16Array;
}

/** As much of the service as a client needs. */
type Reachable = Pick<TestVoice, 'post' | 'patch'>;

/** A client with a connection of its own that calls the service and hears what it sends. */
export async function dial(voice: Reachable, setup: CallerSetup = {}) {
  const caller = prepareCaller(setup);
  await caller.offer(voice, setup.body);
  return caller;
}

/** A client that has not called yet. */
export function prepareCaller({
  key,
  channel = 'server',
  video = true,
  trickle,
  ...setup
}: CallerSetup = {}) {
  const connection = new RTCPeerConnection(setup.configuration);
  const microphone = startMicrophone(framesOf(setup));
  const sender = connection.addTransceiver(microphone.track, { direction: 'sendrecv' });
  if (video) connection.addTransceiver('video', { direction: 'sendrecv' });
  const inbox = listenTo(connection, channel);
  const ear = listen(sender.receiver.track);
  const caller = {
    connection,
    ...inbox,
    ear,
    microphone,
    id: '',
    answer: '',
    /** Offers (again) and takes the answer. */
    async offer(voice: Reachable, body: object = {}, options: RTCOfferOptions = {}) {
      const found = collectCandidates(connection);
      await connection.setLocalDescription(await connection.createOffer(options));
      if (!trickle) await gathered(connection);
      const complete = connection.localDescription?.sdp ?? '';
      const sdp = trickle ? complete.replaceAll(/^a=candidate:.*\r\n/gm, '') : complete;
      const reply = await voice.post('/api/offer', { sdp, type: 'offer', ...body }, key);
      if (reply.status !== 200) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
      caller.id = String(reply.body.pc_id);
      caller.answer = String(reply.body.sdp);
      await connection.setRemoteDescription({ type: 'answer', sdp: caller.answer });
      if (trickle) await sendCandidates(voice, connection, found, caller.id, key);
      return reply.body;
    },
    connected: () => waitFor(() => connection.connectionState === 'connected'),
    hangUp() {
      microphone.stop();
      ear.stop();
      connection.close();
    },
  };
  onTestFinished(() => caller.hangUp());
  return caller;
}

/** The frame of the microphone with that number; undefined where nothing is sent. */
type Frames = (number: number) => Int16Array | undefined;

function framesOf({ tone = 440, sound }: CallerSetup): Frames {
  if (sound !== undefined) return (number) => frameOf(sound, number);
  if (tone === null) return () => undefined;
  return (number) =>
    Int16Array.from({ length: frameSamples }, (_, index) =>
      Math.round(8000 * Math.sin((2 * Math.PI * tone * (number * frameSamples + index)) / rate)),
    );
}

function frameOf(sound: Int16Array, number: number): Int16Array {
  const frame = new Int16Array(frameSamples);
  frame.set(sound.subarray(number * frameSamples, (number + 1) * frameSamples));
  return frame;
}

function startMicrophone(frames: Frames) {
  const source = new nonstandard.RTCAudioSource();
  const track = source.createTrack();
  const begun = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    for (; sent * 10 < performance.now() - begun; sent += 1) {
      const samples = frames(sent);
      if (samples !== undefined) source.onData({ samples, sampleRate: rate });
    }
  }, 10);
  return { track, stop: () => clearInterval(timer) };
}

/** Collects what comes over the data channel, whoever makes it. */
function listenTo(connection: RTCPeerConnection, form: CallerSetup['channel']) {
  const received: string[] = [];
  const channels: RTCDataChannel[] = [];
  const adopt = (channel: RTCDataChannel) => {
    channels.push(channel);
    channel.addEventListener('message', ({ data }) => void received.push(String(data)));
  };
  connection.addEventListener('datachannel', ({ channel }) => adopt(channel));
  // The line for data stands in the offer although the client opens no channel.
  if (form === 'server') connection.createDataChannel('_', { negotiated: true, id: 1023 });
  if (form === 'client') adopt(connection.createDataChannel('mine'));
  return {
    /** All texts, pings included. */
    received,
    channels,
    messages: () => received.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text)),
    channel: () => waitFor(() => channels.find(({ readyState }) => readyState === 'open')),
    async tell(message: string | object) {
      const open = await waitFor(() => channels.find(({ readyState }) => readyState === 'open'));
      open.send(typeof message === 'string' ? message : JSON.stringify(message));
    },
  };
}

/** Collects what is heard. */
function listen(track: MediaStreamTrack) {
  const sink = new nonstandard.RTCAudioSink(track);
  const frames: AudioFrame[] = [];
  sink.addEventListener('data', (event) => frames.push(event as unknown as AudioFrame));
  return { frames, stop: () => sink.stop() };
}

async function gathered(connection: RTCPeerConnection): Promise<void> {
  await waitFor(
    () =>
      connection.iceGatheringState === 'complete' && hasCandidates(connection.localDescription?.sdp ?? ''),
  );
}

function collectCandidates(connection: RTCPeerConnection): RTCIceCandidate[] {
  const found: RTCIceCandidate[] = [];
  connection.addEventListener('icecandidate', ({ candidate }) => candidate && found.push(candidate));
  return found;
}

async function sendCandidates(
  voice: Reachable,
  connection: RTCPeerConnection,
  found: readonly RTCIceCandidate[],
  id: string,
  key?: string,
): Promise<void> {
  await gathered(connection);
  const candidates = found.map(({ candidate, sdpMid, sdpMLineIndex }) => ({
    candidate,
    sdp_mid: sdpMid,
    sdp_mline_index: sdpMLineIndex,
  }));
  const ending = { candidate: '', sdp_mid: '0', sdp_mline_index: 0 };
  const reply = await voice.patch('/api/offer', { pc_id: id, candidates: [...candidates, ending] }, key);
  if (reply.status !== 200) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
}
