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
    const { currentTime } = this.#context;
    playTone(this.#context, [440, 480], { from: currentTime, to: currentTime + 1 });
  }
}

/** A voice that the browser has not named by then is not waited for. */
const VOICES_WAIT_MS = 500;
/** A browser that has not begun to speak by then will not. */
const SPEECH_WAIT_MS = 2000;
const BUSY_TONES = 4;

/**
 * Tells a caller who gets no line so aloud: in a voice of this device, as the service has no time to speak, and with the
 * busy tone of telephones where the device has no English voice of its own, or does not let the page speak. Voices that
 * send the text elsewhere are not used.
 */
export class BusyNotice {
  #context: AudioContext | undefined;
  /** Counts notices, so that one that was stopped says nothing. */
  #round = 0;

  /** Called in the click that begins a call: Safari lets a page sound only by what was opened in one. */
  open(): void {
    this.stop();
    this.#context = new AudioContext();
  }

  async say(words: string): Promise<void> {
    const round = this.#round;
    const isCurrent = () => round === this.#round;
    const voice = await deviceVoice();
    if (!isCurrent()) return;
    if (voice === undefined) {
      this.#sound();
      return;
    }
    const utterance = new SpeechSynthesisUtterance(words);
    utterance.voice = voice;
    utterance.lang = voice.lang;
    let state: 'waiting' | 'speaking' | 'failed' = 'waiting';
    const fail = () => {
      if (state !== 'waiting' || !isCurrent()) return;
      // Some browsers report an error or the end while they cancel.
      state = 'failed';
      speechSynthesis.cancel();
      this.#sound();
    };
    const finish = () => state !== 'failed' && isCurrent() && this.stop();
    utterance.addEventListener('start', () => {
      if (state === 'waiting') state = 'speaking';
    });
    utterance.addEventListener('error', () => (state === 'speaking' ? finish() : fail()));
    utterance.addEventListener('end', finish);
    window.setTimeout(fail, SPEECH_WAIT_MS);
    speechSynthesis.speak(utterance);
  }

  stop(): void {
    this.#round += 1;
    if ('speechSynthesis' in window) speechSynthesis.cancel();
    void this.#context?.close();
    this.#context = undefined;
  }

  #sound(): void {
    const context = this.#context ?? new AudioContext();
    this.#context = context;
    void context.resume();
    const round = this.#round;
    for (let count = 0; count < BUSY_TONES; count += 1) {
      const from = context.currentTime + count;
      const tone = playTone(context, [480, 620], { from, to: from + 0.5 });
      // An open context keeps the loudspeaker busy.
      if (count === BUSY_TONES - 1)
        tone?.addEventListener('ended', () => round === this.#round && this.stop());
    }
  }
}

/** Browsers name their voices some time after they were first asked. */
async function deviceVoice(): Promise<SpeechSynthesisVoice | undefined> {
  if (!('speechSynthesis' in window)) return undefined;
  const known = ownVoice();
  if (known !== undefined) return known;
  await new Promise<void>((resolve) => {
    speechSynthesis.addEventListener('voiceschanged', () => resolve(), { once: true });
    window.setTimeout(resolve, VOICES_WAIT_MS);
  });
  return ownVoice();
}

function ownVoice(): SpeechSynthesisVoice | undefined {
  const voices = speechSynthesis
    .getVoices()
    .filter(({ localService, lang }) => localService && /^en\b/i.test(lang));
  return voices.find((voice) => voice.default) ?? voices[0];
}

/** Times in seconds of the context. Returns one of the tones, which end at the same time. */
function playTone(
  context: AudioContext,
  pitches: readonly number[],
  { from, to }: { from: number; to: number },
): AudioScheduledSourceNode | undefined {
  const level = context.createGain();
  level.gain.value = 0.08;
  level.connect(context.destination);
  const tones = pitches.map((hertz) => {
    const tone = context.createOscillator();
    tone.frequency.value = hertz;
    tone.connect(level);
    tone.start(from);
    tone.stop(to);
    return tone;
  });
  return tones[0];
}
