// A caller who found all lines busy waits here: the page asks for a line, keeps its place, and rings when one is free.
import { type Api, ApiError } from '@trunkline/ui';
import { type Problem, problemIn } from './problems.ts';

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

interface LineWaitEvents {
  onChange(waiting: Waiting | undefined): void;
  /** The service keeps no place for this page. */
  onRefused(problem: Problem): void;
}

export class LineWait {
  readonly #api: Api;
  /** Names the place of this page, also when it calls. */
  readonly #ticket: string;
  readonly #events: LineWaitEvents;
  /** The service may keep a place or a line for this page. */
  hasPlace = false;
  #timer: number | undefined;
  /** Missing: nobody waits. */
  #ring: Ring | undefined;

  constructor(api: Api, ticket: string, events: LineWaitEvents) {
    this.#api = api;
    this.#ticket = ticket;
    this.#events = events;
  }

  start(): void {
    if (this.#ring !== undefined) return;
    this.hasPlace = true;
    // Browsers let a page sound only after a click, which this is.
    this.#ring = new Ring();
    this.#events.onChange({ ahead: 0, ringing: false });
    void this.#ask(this.#ring);
  }

  /** Ends the wait; a call may take the place. Tells whether the page waited. */
  take(): boolean {
    if (this.#ring === undefined) return false;
    window.clearTimeout(this.#timer);
    this.#ring.close();
    this.#ring = undefined;
    this.#events.onChange(undefined);
    return true;
  }

  /** Ends the wait and gives up the place. */
  stop(): void {
    this.take();
    if (!this.hasPlace) return;
    this.hasPlace = false;
    const request = { method: 'DELETE', headers: this.#api.keyHeaders(), keepalive: true };
    // A failure needs no handling: the service forgets who does not ask.
    void fetch(`/api/lines?ticket=${encodeURIComponent(this.#ticket)}`, request).catch(() => undefined);
  }

  async #ask(ring: Ring, ringingSince?: number): Promise<void> {
    let since = ringingSince;
    try {
      const body = { ticket: this.#ticket };
      const { free, ahead } = await this.#api.request<LinePlace>('/api/lines', { body });
      if (ring !== this.#ring) return;
      since = free ? (ringingSince ?? performance.now()) : undefined;
      ring.sound(free);
      this.#events.onChange({ ahead, ringing: free });
    } catch (error) {
      if (ring !== this.#ring) return;
      if (isRefusal(error)) return this.#refuse(problemIn(error));
      // The service may be restarting; the next question tells.
    }
    if (since !== undefined && performance.now() - since > RING_MS) return this.stop();
    this.#timer = window.setTimeout(() => void this.#ask(ring, since), ASK_EVERY_MS);
  }

  #refuse(problem: Problem): void {
    this.stop();
    this.#events.onRefused(problem);
  }
}

/** The session is over, or too many wait. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return [401, 403].includes(error.status) || problemIn(error).code === 'lines-busy';
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
