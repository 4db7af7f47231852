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
  /** Frees everything; nothing is told afterwards. */
  close(): void;
}

export type PeerState = 'connecting' | 'connected' | 'lost';

/** What a peer tells whoever made it. */
export interface PeerEvents {
  /** The state may be another now. */
  stateChanged(): void;
  /** What the microphone of the other side gave. */
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

/** Makes peers. */
export type PeerMaker = (settings: PeerSettings, events: PeerEvents) => Peer;
