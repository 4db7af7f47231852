import type { Channel } from './peer.ts';

export interface ChannelEvents {
  opened(): void;
  closed(): void;
  message(message: string | ArrayBuffer): void;
}

/** A data channel of @roamhq/wrtc. */
export class WrtcChannel implements Channel {
  readonly madeBy: Channel['madeBy'];
  readonly #channel: RTCDataChannel;
  /** Asking the library itself would wait for its threads. */
  #open = false;
  #released = false;

  constructor(channel: RTCDataChannel, madeBy: Channel['madeBy'], events: ChannelEvents) {
    this.#channel = channel;
    this.madeBy = madeBy;
    channel.binaryType = 'arraybuffer';
    const becomes = (open: boolean, tell: () => void) => () => {
      if (this.#released || this.#open === open) return;
      this.#open = open;
      tell();
    };
    channel.addEventListener('open', becomes(true, events.opened));
    channel.addEventListener('close', becomes(false, events.closed));
    if (channel.readyState === 'open') queueMicrotask(becomes(true, events.opened));
    channel.addEventListener('message', ({ data }) => {
      if (!this.#released) events.message(data as string | ArrayBuffer);
    });
  }

  get waiting(): number {
    return this.#channel.bufferedAmount;
  }

  send(text: string): void {
    if (!this.#open) return;
    try {
      this.#channel.send(text);
    } catch {
      // It is closing, which its event is about to tell.
    }
  }

  /** Nothing is told from now on. */
  close(): void {
    this.#released = true;
    this.#channel.close();
  }
}
