import type { Delivery } from '../delivery/delivery.ts';

/** A live voice connection, as the rest of the service knows it. */
export interface VoiceSession {
  readonly id: string;
  readonly userId: string;
  /** Takes something to say under its policy; `spoken` of the delivery is called once it was heard. */
  offer(delivery: Delivery): void;
}
