// One WebRTC connection to the service: signalling, sound both ways, and the data channel.
import { type Api, ApiError, browserTimezone, randomId } from '@trunkline/ui';
import { CallProblem, problemOf } from './problems.ts';

// Messages of the data channel, in the RTVI style.
const LABEL = 'rtvi-ai';

const BATCH_MS = 40;

const CONNECT_LIMIT_MS = 12_000;
const KEEPALIVE_MS = 1000;
/** The service sends a keepalive every second; this many missed ones mean that it is gone. */
const SILENT_SECONDS = 5;
const MOST_WAITING = 20;

export interface LinkEvents {
  onSound(stream: MediaStream): void;
  onMessage(text: string): void;
  /** Called once, when an established connection is lost. */
  onLost(): void;
}

interface LinkRequest {
  /** Without one the caller can only write. */
  track: MediaStreamTrack | undefined;
  /** The first message. */
  greeting: string;
  /** Names the page. */
  ticket: string;
  /** What the caller chose to speak. */
  language: string | undefined;
}

interface OfferAnswer {
  sdp: string;
  type: 'answer';
  pc_id: string;
}

/** Not yet in the browser's types: makes the offer carry a data channel that the other side creates. */
interface Configuration extends RTCConfiguration {
  alwaysNegotiateDataChannels?: boolean;
}

export class Link {
  readonly #api: Api;
  readonly #events: LinkEvents;
  readonly #connection: RTCPeerConnection;
  readonly #trickle: Trickle;
  readonly #settled = Promise.withResolvers<void>();
  readonly #servers: RTCIceServer[];
  /** The service's id of the connection. */
  #id: string | undefined;
  #channel: RTCDataChannel | undefined;
  #sender: RTCRtpSender | undefined;
  #greeting = '';
  #waiting: string[] = [];
  #keepalive: number | undefined;
  #heardAt = 0;
  #stood = false;
  #closed = false;

  constructor(api: Api, servers: RTCIceServer[], events: LinkEvents) {
    this.#api = api;
    this.#events = events;
    this.#servers = servers;
    this.#connection = createConnection(servers);
    this.#trickle = new Trickle(api, (error) => {
      // The service has ended the call, and says why over the connection; one that stands needs no more candidates.
      const isEnded = error instanceof ApiError && error.status === 404;
      if (!isEnded && !this.#stood) this.#fail();
    });
    this.#listen();
  }

  /** Connects and sends the greeting first. */
  async open({ track, greeting, ticket, language }: LinkRequest): Promise<void> {
    this.#greeting = greeting;
    const connection = this.#connection;
    this.#sender = connection.addTransceiver(track ?? 'audio', { direction: 'sendrecv' }).sender;
    connection.addTransceiver('video', { direction: 'sendrecv' });
    await connection.setLocalDescription();
    const { sdp, type } = connection.localDescription ?? {};
    const { pc_id: id, ...answer } = await this.#api.request<OfferAnswer>('/api/offer', {
      body: { sdp, type, ticket, request_data: { timezone: browserTimezone(), language } },
    });
    // The caller hung up meanwhile: free the line.
    if (this.#closed) return this.#leave(id);
    this.#id = id;
    await connection.setRemoteDescription(answer);
    this.#trickle.open(id);
    const limit = window.setTimeout(() => this.#fail(), CONNECT_LIMIT_MS);
    await this.#settled.promise.finally(() => window.clearTimeout(limit));
  }

  async replaceTrack(track: MediaStreamTrack | undefined): Promise<void> {
    await this.#sender?.replaceTrack(track ?? null);
  }

  /** Sends now, or as soon as the channel is open. */
  send(text: string): void {
    if (this.#channel?.readyState === 'open') this.#channel.send(text);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(text);
  }

  /** Works also while the page is being left. */
  hangUp(): void {
    const id = this.#id;
    if (this.#closed || id === undefined) {
      this.close();
      return;
    }
    this.#retire();
    void this.#leave(id).finally(() => this.#connection.close());
  }

  /** Unsent messages, for another connection. */
  takeWaiting(): string[] {
    return this.#waiting.splice(0);
  }

  close(): void {
    if (this.#closed) return;
    this.#retire();
    this.#connection.close();
  }

  // A failure needs no handling: the service notices by itself that the connection is gone.
  async #leave(id: string): Promise<void> {
    const request = { method: 'DELETE', headers: this.#api.keyHeaders(), keepalive: true };
    await fetch(`/api/offer?pc_id=${encodeURIComponent(id)}`, request).catch(() => undefined);
  }

  #retire(): void {
    this.#closed = true;
    window.clearInterval(this.#keepalive);
    this.#trickle.stop();
    this.#settled.reject(new CallProblem(problemOf('lost')));
  }

  /** In milliseconds. */
  async roundTrip(): Promise<number | undefined> {
    const reports: RTCIceCandidatePairStats[] = [];
    (await this.#connection.getStats()).forEach((report) => {
      if (report.type === 'candidate-pair' && report.nominated) reports.push(report);
    });
    const seconds = reports.find(({ currentRoundTripTime }) => currentRoundTripTime !== undefined);
    return seconds?.currentRoundTripTime === undefined ? undefined : seconds.currentRoundTripTime * 1000;
  }

  #listen(): void {
    const connection = this.#connection;
    // `onLost` reports it too.
    this.#settled.promise.catch(() => undefined);
    connection.addEventListener('icecandidate', ({ candidate }) => this.#trickle.push(candidate));
    connection.addEventListener('datachannel', ({ channel }) => this.#adopt(channel));
    connection.addEventListener('track', ({ track, receiver }) => {
      if (track.kind !== 'audio') return;
      // As little as the network allows; the browser holds back more where packets come unevenly.
      receiver.jitterBufferTarget = 0;
      this.#events.onSound(new MediaStream([track]));
    });
    connection.addEventListener('connectionstatechange', () => this.#noticeState());
  }

  #noticeState(): void {
    const { connectionState } = this.#connection;
    if (connectionState === 'connected') {
      this.#stood = true;
      this.#settled.resolve();
    }
    if (connectionState === 'failed' || connectionState === 'closed') this.#fail();
  }

  #adopt(channel: RTCDataChannel): void {
    this.#channel = channel;
    const opened = () => {
      this.#heardAt = performance.now();
      this.#keepalive ??= window.setInterval(() => this.#keepAlive(), KEEPALIVE_MS);
      for (const text of [this.#greeting, ...this.#waiting.splice(0)]) channel.send(text);
    };
    if (channel.readyState === 'open') opened();
    else channel.addEventListener('open', opened, { once: true });
    channel.addEventListener('close', () => this.#fail());
    channel.addEventListener('message', ({ data }) => this.#hear(data));
  }

  #hear(data: unknown): void {
    this.#heardAt = performance.now();
    if (typeof data === 'string' && !this.#closed) this.#events.onMessage(data);
  }

  #keepAlive(): void {
    if (this.#channel?.readyState === 'open') this.#channel.send(`ping: ${Date.now()}`);
    if (performance.now() - this.#heardAt > SILENT_SECONDS * 1000) this.#fail();
  }

  #fail(): void {
    if (this.#closed) return;
    const stood = this.#stood;
    this.#settled.reject(new CallProblem(this.#unreachable()));
    this.close();
    if (stood) this.#events.onLost();
  }

  #unreachable() {
    const relayed = this.#servers.some(({ urls }) => [urls].flat().some((url) => /^turns?:/.test(url)));
    if (!relayed) return problemOf('media-unreachable');
    const todo = 'A TURN relay is set in ICE_SERVERS: check that it runs, and its user name and password.';
    return problemOf('media-unreachable', { todo });
  }
}

function createConnection(iceServers: RTCIceServer[]): RTCPeerConnection {
  const wanted: Configuration = { iceServers, alwaysNegotiateDataChannels: true };
  const connection = new RTCPeerConnection(wanted);
  const known: Configuration = connection.getConfiguration();
  // In other browsers an unused negotiated channel has the same effect on the offer.
  if (!known.alwaysNegotiateDataChannels) connection.createDataChannel('_', { negotiated: true, id: 1023 });
  return connection;
}

interface Candidate {
  candidate: string;
  sdp_mid: string;
  sdp_mline_index: number;
}

/** Sends ICE candidates in batches; those found before the service has answered wait. */
class Trickle {
  readonly #api: Api;
  readonly #onFailed: (error: unknown) => void;
  #connection: string | undefined;
  #waiting: Candidate[] = [];
  #timer: number | undefined;

  constructor(api: Api, onFailed: (error: unknown) => void) {
    this.#api = api;
    this.#onFailed = onFailed;
  }

  /** Null means that there are no more. */
  push(found: RTCIceCandidate | null): void {
    this.#waiting.push({
      candidate: found?.candidate ?? '',
      sdp_mid: found?.sdpMid ?? '0',
      sdp_mline_index: found?.sdpMLineIndex ?? 0,
    });
    this.#schedule();
  }

  open(connection: string): void {
    this.#connection = connection;
    this.#schedule();
  }

  stop(): void {
    window.clearTimeout(this.#timer);
    this.#connection = undefined;
    this.#waiting = [];
  }

  #schedule(): void {
    if (this.#connection === undefined || this.#waiting.length === 0 || this.#timer !== undefined) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      this.#send().catch(this.#onFailed);
    }, BATCH_MS);
  }

  async #send(): Promise<void> {
    if (this.#connection === undefined) return;
    const candidates = this.#waiting.splice(0);
    const body = { pc_id: this.#connection, candidates };
    await this.#api.request('/api/offer', { method: 'PATCH', body });
  }
}

export interface ServerMessage {
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** Undefined for keepalives and unknown forms. */
export function openMessage(text: string): ServerMessage | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const { label, type, data }: Record<string, unknown> = JSON.parse(text);
    if (label !== LABEL || typeof type !== 'string') return undefined;
    return { type, data: typeof data === 'object' && data !== null ? { ...data } : {} };
  } catch {
    // The page can do nothing about a malformed message.
    return undefined;
  }
}

export function sealMessage(type: string, data?: object): string {
  return JSON.stringify({ label: LABEL, type, id: randomId(), ...(data && { data }) });
}
