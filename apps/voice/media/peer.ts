import { defineErrors } from '@trunkline/http';
import type { AudioFrame } from '../speech/audio/frame.ts';
import type { IceServer, PortRange } from './ice.ts';

/** One end of a WebRTC connection that answers offers: sound both ways and a data channel. */
export interface Peer {
  readonly state: PeerState;
  /** Takes an offer, the first or a later one, and gives the answer with the candidates of this side. */
  answer(sdp: string): Promise<string>;
  /** An empty candidate says that no more will come. */
  addCandidate(candidate: Candidate): Promise<void>;
  /** Sends 10 ms of sound, exactly. */
  play(frame: AudioFrame): void;
  /** Drops what comes in until the event loop is free again. */
  rest(): void;
  /** Packets of any kind that have come so far. */
  packetsReceived(): Promise<number>;
  /** Frees everything; no event follows. */
  close(): void;
}

export type PeerState = 'connecting' | 'connected' | 'lost';

/** Events of a peer. */
export interface PeerEvents {
  /** The state may have changed. */
  stateChanged(): void;
  /** Sound of the other side's microphone. */
  audio(frame: AudioFrame): void;
  /** A data channel has opened. */
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

/** The kinds of the media lines of a session description: audio, video, application. */
export function mediaKinds(sdp: string): string[] {
  return [...sdp.matchAll(/^m=(\w+) /gm)].map(([, kind]) => kind ?? '');
}

/** Whether a description names a way to reach its side. */
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
  webrtc_missing: [
    503,
    (failure: { reason: string }) =>
      `Calls need the package @roamhq/wrtc, which did not load (${failure.reason}). Run "npm ci", or "npm install @roamhq/wrtc", and start the service again.`,
  ],
});
