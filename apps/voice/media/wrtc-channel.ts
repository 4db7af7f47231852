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
  #released = false;

  constructor(channel: RTCDataChannel, madeBy: Channel['madeBy'], events: ChannelEvents) {
    this.#channel = channel;
    this.madeBy = madeBy;
    channel.binaryType = 'arraybuffer';
    const unlessReleased = (tell: () => void) => () => this.#released || tell();
    if (channel.readyState === 'open') queueMicrotask(unlessReleased(events.opened));
    else channel.addEventListener('open', unlessReleased(events.opened));
    channel.addEventListener('close', unlessReleased(events.closed));
    channel.addEventListener('message', ({ data }) => {
      if (!this.#released) events.message(data as string | ArrayBuffer);
    });
  }

  get waiting(): number {
    return this.#channel.bufferedAmount;
  }

  send(text: string): void {
    if (this.#channel.readyState === 'open') this.#channel.send(text);
  }

  /** Nothing is told from now on. */
  close(): void {
    this.#released = true;
    this.#channel.close();
  }
}
