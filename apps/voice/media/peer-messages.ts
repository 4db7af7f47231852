// What the service and the process that holds its WebRTC connections tell each other, beside sound (audio-pipe.ts).
import type { Candidate, Channel, PeerSettings, PeerState } from './peer.ts';

/** To the process. `peer` numbers the connections, `request` those messages that want a reply. */
export type HostRequest =
  | { type: 'create'; peer: number; settings: PeerSettings }
  | { type: 'answer'; peer: number; request: number; sdp: string }
  | { type: 'candidate'; peer: number; request: number; candidate: Candidate }
  | { type: 'count'; peer: number; request: number }
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
  | { type: 'opened'; peer: number; channel: number; madeBy: Channel['madeBy'] }
  | { type: 'closed'; peer: number; channel: number }
  | { type: 'buffered'; peer: number; channel: number; bytes: number }
  | { type: 'message'; peer: number; channel: number; message: string | ArrayBuffer };

/** The descriptor of the process that carries sound both ways. */
export const audioDescriptor = 4;
