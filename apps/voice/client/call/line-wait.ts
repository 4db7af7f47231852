// A caller who found all lines busy waits here: the page asks for a line, keeps its place, and rings when one is free.
import { type Api, randomId } from '@trunkline/ui';

const ASK_EVERY_MS = 4000;
/** Long enough to come back to the page; then the line goes to the next. */
const RING_MS = 45_000;

export interface Waiting {
  /** Callers who come first. */
  ahead: number;
  /** A line is free, and kept for this page. */
  ringing: boolean;
}

interface LinePlace {
  free: boolean;
  ahead: number;
}

export class LineWait {
  readonly #api: Api;
  readonly #onChange: (waiting: Waiting | undefined) => void;
  #ticket: string | undefined;
  #timer: number | undefined;
  #ring: Ring | undefined;

  constructor(api: Api, onChange: (waiting: Waiting | undefined) => void) {
    this.#api = api;
    this.#onChange = onChange;
  }

  start(): void {
    if (this.#ticket !== undefined) return;
    this.#ticket = randomId();
    // Browsers let a page sound only after a click, which this is.
    this.#ring = new Ring();
    this.#onChange({ ahead: 0, ringing: false });
    void this.#ask(this.#ticket);
  }

  /** Ends the wait; gives the ticket that the call shows. */
  take(): string | undefined {
    const ticket = this.#ticket;
    if (ticket === undefined) return undefined;
    window.clearTimeout(this.#timer);
    this.#ring?.close();
    this.#ticket = undefined;
    this.#onChange(undefined);
    return ticket;
  }

  stop(): void {
    const ticket = this.take();
    if (ticket === undefined) return;
    const request = { method: 'DELETE', headers: this.#api.keyHeaders(), keepalive: true };
    // A failure needs no handling: the service forgets who does not ask.
    void fetch(`/api/lines?ticket=${encodeURIComponent(ticket)}`, request).catch(() => undefined);
  }

  async #ask(ticket: string, ringingSince?: number): Promise<void> {
    let since = ringingSince;
    try {
      const { free, ahead } = await this.#api.request<LinePlace>('/api/lines', { body: { ticket } });
      if (ticket !== this.#ticket) return;
      since = free ? (ringingSince ?? performance.now()) : undefined;
      this.#ring?.sound(free);
      this.#onChange({ ahead, ringing: free });
    } catch {
      // The service may be restarting; the next question tells.
      if (ticket !== this.#ticket) return;
    }
    if (since !== undefined && performance.now() - since > RING_MS) return this.stop();
    this.#timer = window.setTimeout(() => void this.#ask(ticket, since), ASK_EVERY_MS);
  }
}

/** The sound of a telephone: two tones, on for a second, off for three. */
class Ring {
  readonly #context = new AudioContext();
  #timer: number | undefined;

  sound(on: boolean): void {
    if (on === (this.#timer !== undefined)) return;
    window.clearInterval(this.#timer);
    this.#timer = undefined;
    if (!on) return;
    this.#once();
    this.#timer = window.setInterval(() => this.#once(), 4000);
  }

  close(): void {
    window.clearInterval(this.#timer);
    void this.#context.close();
  }

  #once(): void {
    const level = this.#context.createGain();
    level.gain.value = 0.08;
    level.connect(this.#context.destination);
    for (const hertz of [440, 480]) {
      const tone = this.#context.createOscillator();
      tone.frequency.value = hertz;
      tone.connect(level);
      tone.start();
      tone.stop(this.#context.currentTime + 1);
    }
  }
}
