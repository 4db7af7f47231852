// The process of the connections loads this too: it imports no library.
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
  return candidatesIn(sdp).length > 0;
}

/** In the form in which they are sent behind an offer, too. */
export function candidatesIn(sdp: string): string[] {
  return [...sdp.matchAll(/^a=(candidate:[^\r\n]*)/gm)].map(([, candidate]) => candidate ?? '');
}

/**
 * Whether the library would open a TCP connection to the place that a candidate names, which may be any program of this
 * machine or its network. Browsers send active `host` candidates, for which it opens none; for all others it may.
 */
export function asksForTcp(candidate: string): boolean {
  const transport = candidate.split(' ')[2]?.toLowerCase() ?? 'udp';
  return transport !== 'udp' && !activeTcp.test(candidate);
}

const activeTcp = /^(a=)?candidate:\S+ \d+ tcp \d+ \S+ \d+ typ host tcptype active(\s|$)/i;

/** The description without the candidates for which the library would open TCP connections. */
export function withoutTcpPlaces(sdp: string): string {
  return sdp.replace(/^a=(candidate:[^\n]*)\n?/gm, (line, candidate: string) =>
    asksForTcp(candidate) ? '' : line,
  );
}

/** Of one connection; browsers find a few dozen. */
export const mostCandidates = 300;

/** A STUN or TURN server in the form that browsers take. */
export interface IceServer {
  readonly urls: string | string[];
  readonly username?: string | undefined;
  readonly credential?: string | undefined;
}

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
