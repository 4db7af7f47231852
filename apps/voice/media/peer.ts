import { defineErrors } from '@trunkline/http';
import { z } from 'zod';
import type { AudioFrame } from '../speech/audio/samples.ts';

/** One end of a WebRTC connection that answers offers: sound both ways and a data channel. */
export interface Peer {
  readonly state: PeerState;
  /** Answers the first or a later offer. The answer holds the candidates of this side. */
  answer(sdp: string): Promise<string>;
  /** An empty candidate says that no more will come. */
  addCandidate(candidate: Candidate): Promise<void>;
  /** Takes exactly 10 ms of sound. */
  play(frame: AudioFrame): void;
  /** Drops what comes in until the event loop is free again. */
  rest(): void;
  packetsReceived(): Promise<number>;
  /** Frees everything; no event follows. */
  close(): void;
}

export type PeerState = 'connecting' | 'connected' | 'lost';

export interface PeerEvents {
  /** The state may have changed. */
  stateChanged(): void;
  audio(frame: AudioFrame): void;
  channelOpened(channel: Channel): void;
  channelClosed(channel: Channel): void;
  message(channel: Channel, message: string | ArrayBuffer): void;
}

/** An open data channel. */
export interface Channel {
  readonly madeBy: 'client' | 'server';
  /** Bytes that wait to be sent. */
  readonly waiting: number;
  send(text: string): void;
}

/** Longer messages of a caller are ignored. */
export const largestMessage = 64 * 1024;

export interface Candidate {
  candidate: string;
  mid: string | null;
  lineIndex: number | null;
}

export interface PeerSettings {
  iceServers: readonly IceServer[];
  portRange: PortRange | undefined;
}

export type PeerMaker = (settings: PeerSettings, events: PeerEvents) => Peer;

/** The media kinds of a session description: audio, video, application. */
export function mediaKinds(sdp: string): string[] {
  return [...sdp.matchAll(/^m=(\w+) /gm)].map(([, kind]) => kind ?? '');
}

export function hasCandidates(sdp: string): boolean {
  return /^a=candidate:/m.test(sdp);
}

export const mediaErrors = defineErrors({
  bad_offer: [400, (offer: { reason: string }) => `The offer cannot be used: ${offer.reason}`],
  bad_candidate: [400, (candidate: { reason: string }) => `A candidate cannot be used: ${candidate.reason}`],
  connection_unknown: [404, 'Peer connection not found'],
  lines_busy: [
    503,
    (limit: { calls: number }) =>
      `All ${limit.calls} lines are in use. Try again later, or raise MAX_CALLS on the server.`,
  ],
  machine_busy: [
    503,
    (load: { capacity: number }) =>
      `This machine serves at most ${load.capacity} callers well, by the work that calls have taken so far, and so many are connected. Try again later, or raise MAX_SPEECH_LOAD on the server.`,
  ],
  webrtc_ended: [503, 'The process that carries calls has ended, and starts again. Try again.'],
  line_kept: [503, 'A line is free, and kept for somebody who waits for it. Try again later.'],
  webrtc_missing: [
    503,
    (failure: { reason: string }) =>
      `Calls need the package @roamhq/wrtc, which did not load (${failure.reason}). Run "npm ci", or "npm install @roamhq/wrtc", and start the service again.`,
  ],
});

const serverUrl = z
  .string()
  .regex(/^(stun|stuns|turn|turns):[^\s/]+$/i, 'an address such as stun:host:3478 or turn:host:3478');

/** STUN and TURN servers in the form that browsers take. */
export const iceServersSchema = z.array(
  z
    .strictObject({
      urls: z.union([serverUrl, z.array(serverUrl).min(1)]),
      username: z.string().optional(),
      credential: z.string().optional(),
    })
    .refine(
      ({ urls, username, credential }) =>
        ![urls].flat().some(isRelay) || (username !== undefined && credential !== undefined),
      'a turn: server needs username and credential',
    ),
);

export type IceServer = Readonly<z.output<typeof iceServersSchema>[number]>;

export interface PortRange {
  min: number;
  max: number;
}

const highestPort = 65_535;

/** Reads a range such as "40000-40100". */
export function portRangeOf(text: string): PortRange | undefined {
  const [, low, high] = /^(\d+)\s*-\s*(\d+)$/.exec(text) ?? [];
  const [min, max] = [Number(low), Number(high)];
  return min >= 1 && min <= max && max <= highestPort ? { min, max } : undefined;
}

function isRelay(url: string): boolean {
  return /^turns?:/i.test(url);
}
