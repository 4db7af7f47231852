// What the service and the process that holds its WebRTC connections tell each other.
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { Candidate, Channel, PeerSettings, PeerState } from './peer.ts';

/** To the process. `peer` numbers the connections, `request` those messages that want a reply. */
export type HostRequest =
  | { type: 'create'; peer: number; settings: PeerSettings }
  | { type: 'answer'; peer: number; request: number; sdp: string }
  | { type: 'candidate'; peer: number; request: number; candidate: Candidate }
  | { type: 'count'; peer: number; request: number }
  | { type: 'play'; peer: number; frame: AudioFrame }
  | { type: 'send'; peer: number; channel: number; text: string }
  | { type: 'close'; peer: number };

/** From the process. */
export type HostMessage =
  | { type: 'ready' }
  | { type: 'failed'; reason: string }
  | { type: 'reply'; request: number; result: string | number }
  | { type: 'refused'; request: number; reason: string }
  | { type: 'state'; peer: number; state: PeerState }
  | { type: 'broken'; peer: number; reason: string }
  | { type: 'audio'; peer: number; frame: AudioFrame }
  | { type: 'opened'; peer: number; channel: number; madeBy: Channel['madeBy'] }
  | { type: 'closed'; peer: number; channel: number }
  | { type: 'buffered'; peer: number; channel: number; bytes: number }
  | { type: 'message'; peer: number; channel: number; message: string | ArrayBuffer };
