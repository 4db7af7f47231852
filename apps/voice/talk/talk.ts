import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '@trunkline/std';
import { fieldsOf, type LineMessage } from '../call/line.ts';
import { hasCandidates } from '../media/peer.ts';
import { loadWrtc, type Wrtc } from '../media/wrtc-peer.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { Span, Timeline, TimelineEvent } from '../timeline/timeline.ts';

export interface TalkOptions {
  /** Address of the voice service. */
  url: string;
  headers: Record<string, string>;
  title: string;
  /** What the caller says, at 48 kHz. */
  sound: Int16Array;
  /** The call ends after this long without sound or work on either side. */
  quietMs: number;
  /** The longest call after the recording has been played. */
  limitMs: number;
  signal: AbortSignal;
  onMessage?(message: LineMessage): void;
}

const rate = 48_000;
const frameMs = 10;
const frameSamples = (rate * frameMs) / 1000;
const connectMs = 30_000;
const loadingMs = 180_000;
/** A greeting is let finish before the recording begins. */
const greetingMs = 700;

/** Calls a running service over WebRTC, plays a recording to it, and gives the timeline of the call. */
export async function talk(options: TalkOptions): Promise<Timeline> {
  const { signal, sound, title } = options;
  const client = new TalkClient(await loadWrtc(), options);
  try {
    await client.connect();
    const stays = (holds: () => boolean) => () => {
      if (client.isGone) throw new Error('The service ended the call before the recording was played.');
      return holds();
    };
    const ready = stays(() => client.isReady);
    await until(ready, loadingMs, 'the speech models of the service did not load', signal);
    const greeted = stays(() => client.quietMs > greetingMs);
    await until(greeted, loadingMs, 'the greeting does not end', signal);
    const playedMs = client.play(sound);
    await until(() => client.hasPlayed, playedMs + connectMs, 'the recording was not played', signal);
    const isOver = () => client.isGone || client.quietMs > options.quietMs;
    await until(isOver, options.limitMs, undefined, signal);
    return { title, ...client.timeline() };
  } finally {
    client.close();
  }
}

async function until(
  holds: () => boolean,
  limitMs: number,
  failure: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > end && failure === undefined) return;
    if (performance.now() > end) throw new Error(`Gave up after ${limitMs / 1000} s: ${failure}.`);
    await sleep(20, undefined, { signal });
  }
}

/** One call: a microphone that plays a recording, an ear, and the messages of the data channel. */
class TalkClient {
  readonly #options: TalkOptions;
  readonly #connection: RTCPeerConnection;
  readonly #source: InstanceType<Wrtc['nonstandard']['RTCAudioSource']>;
  readonly #sink: InstanceType<Wrtc['nonstandard']['RTCAudioSink']>;
  readonly #microphone: NodeJS.Timeout;
  readonly #startedAt = new Date();
  readonly #start = performance.now();
  readonly #events: TimelineEvent[] = [];
  readonly #caller = new SoundSpans();
  readonly #bot = new SoundSpans();
  #sentFrames = 0;
  #sound = new Int16Array();
  #soundAt = 0;
  /** Replies and models that load: work that keeps the call open. */
  #generating = false;
  #loading = false;
  #greeted = false;
  #id = '';
  #activeAt = performance.now();
  #gone = false;

  constructor({ RTCPeerConnection, nonstandard }: Wrtc, options: TalkOptions) {
    this.#options = options;
    this.#connection = new RTCPeerConnection();
    this.#source = new nonstandard.RTCAudioSource();
    const { receiver } = this.#connection.addTransceiver(this.#source.createTrack(), {
      direction: 'sendrecv',
    });
    this.#connection.addTransceiver('video', { direction: 'sendrecv' });
    // The line for data must be in the offer, although the service opens the channel.
    this.#connection.createDataChannel('_', { negotiated: true, id: 1023 });
    this.#connection.addEventListener('datachannel', ({ channel }) => this.#adopt(channel));
    this.#sink = new nonstandard.RTCAudioSink(receiver.track);
    this.#sink.addEventListener('data', (event) => this.#hear(event as unknown as AudioFrame));
    this.#microphone = setInterval(() => this.#send(), frameMs);
  }

  async connect(): Promise<void> {
    const { url, headers, signal } = this.#options;
    await this.#connection.setLocalDescription(await this.#connection.createOffer());
    const sdp = () => this.#connection.localDescription?.sdp ?? '';
    const isGathered = () => this.#connection.iceGatheringState === 'complete' && hasCandidates(sdp());
    await until(isGathered, connectMs, 'this machine has no network address for a call', signal);
    const body = { sdp: sdp(), type: 'offer', request_data: { decisions: true } };
    const answer = await this.#ask(`${url}/api/offer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    this.#id = String(answer.pc_id);
    await this.#connection.setRemoteDescription({ type: 'answer', sdp: String(answer.sdp) });
    await until(
      () => this.#greeted || this.#gone,
      connectMs,
      'the service did not open its data channel',
      signal,
    );
  }

  get isReady(): boolean {
    return this.#greeted && !this.#loading;
  }

  /** How long nobody has spoken and nothing is under way. */
  get quietMs(): number {
    return this.#generating || this.#loading ? 0 : performance.now() - this.#activeAt;
  }

  get hasPlayed(): boolean {
    return this.#soundAt >= this.#sound.length;
  }

  get isGone(): boolean {
    return this.#gone;
  }

  /** Gives the length of the recording. */
  play(sound: Int16Array): number {
    this.#sound = Int16Array.from(sound);
    return (sound.length / rate) * 1000;
  }

  timeline(): Omit<Timeline, 'title'> {
    const sound = { caller: this.#caller.spans(), bot: this.#bot.spans() };
    return { startedAt: this.#startedAt, lengthMs: this.#nowMs, events: this.#events, sound };
  }

  close(): void {
    clearInterval(this.#microphone);
    this.#sink.stop();
    this.#connection.close();
    const { url, headers } = this.#options;
    const address = `${url}/api/offer?pc_id=${encodeURIComponent(this.#id)}`;
    // The end of the connection is a hang-up too, only later.
    if (this.#id !== '' && !this.#gone)
      fetch(address, { method: 'DELETE', headers, signal: AbortSignal.timeout(2000) }).catch(() => undefined);
  }

  get #nowMs(): number {
    return performance.now() - this.#start;
  }

  async #ask(address: string, init: RequestInit): Promise<Record<string, unknown>> {
    const { url, signal } = this.#options;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(connectMs)]);
    const response = await fetch(address, { ...init, signal: limited }).catch((error: unknown) => {
      throw new Error(
        `Cannot reach the voice service at ${url}: ${errorMessage(error)}. Start it, or name it with --url.`,
      );
    });
    const text = await response.text();
    const answer = response.ok ? parsed(text) : undefined;
    if (answer !== undefined) return answer;
    if (response.ok)
      throw new Error(
        `What answers at ${url} is no voice service: it sent no JSON. Name another with --url.`,
      );
    const advice =
      response.status === 401 || response.status === 403 ? ' Give the key of a user with --key-file.' : '';
    throw new Error(`The voice service refused the call: ${response.status} ${text.slice(0, 500)}.${advice}`);
  }

  #adopt(channel: RTCDataChannel): void {
    channel.addEventListener('message', ({ data }) => this.#receive(String(data)));
    channel.addEventListener('close', () => {
      this.#gone = true;
    });
    const greet = () => {
      channel.send(JSON.stringify({ label: 'rtvi-ai', type: 'client-ready', id: 'talk' }));
    };
    if (channel.readyState === 'open') greet();
    else channel.addEventListener('open', greet);
  }

  #receive(text: string): void {
    const message = parsed(text) as LineMessage | undefined;
    if (typeof message?.type !== 'string') return;
    this.#events.push({ atMs: this.#nowMs, message });
    this.#activeAt = performance.now();
    const kind = String(fieldsOf(message.data).type ?? '');
    if (message.type === 'bot-ready') this.#greeted = true;
    if (message.type === 'bot-llm-started') this.#generating = true;
    if (['bot-llm-stopped', 'bot-interrupted', 'error'].includes(message.type)) this.#generating = false;
    if (message.type === 'server-message' && kind.startsWith('speech-'))
      this.#loading = kind === 'speech-loading';
    if (message.type === 'server-message' && kind === 'call-ended') this.#gone = true;
    this.#options.onMessage?.(message);
  }

  /** Sends what is due, silence where nothing is played. */
  #send(): void {
    for (; this.#sentFrames * frameMs < this.#nowMs; this.#sentFrames += 1) {
      const samples = new Int16Array(frameSamples);
      const piece = this.#sound.subarray(this.#soundAt, this.#soundAt + frameSamples);
      samples.set(piece);
      this.#soundAt += piece.length;
      this.#source.onData({ samples, sampleRate: rate });
      if (this.#caller.add(samples, this.#sentFrames * frameMs)) this.#activeAt = performance.now();
    }
  }

  #hear({ samples }: AudioFrame): void {
    if (this.#bot.add(samples, this.#nowMs)) this.#activeAt = performance.now();
  }
}

/** The fields of a JSON object; undefined for any other text. */
function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return text.startsWith('{') ? fieldsOf(JSON.parse(text)) : undefined;
  } catch {
    return undefined;
  }
}

/** Softer frames count as silence; of 32,768. */
const loudAbove = 200;
/** Shorter gaps are between words. */
const gapMs = 300;

/** Where frames of 10 ms hold sound. */
class SoundSpans {
  readonly #spans: Span[] = [];

  /** Returns whether the frame is loud. */
  add(samples: Int16Array, atMs: number): boolean {
    const energy = samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length);
    if (Math.sqrt(energy) < loudAbove) return false;
    const last = this.#spans.at(-1);
    if (last !== undefined && atMs - last.toMs < gapMs) last.toMs = atMs + frameMs;
    else this.#spans.push({ fromMs: atMs, toMs: atMs + frameMs });
    return true;
  }

  spans(): readonly Span[] {
    return this.#spans;
  }
}
