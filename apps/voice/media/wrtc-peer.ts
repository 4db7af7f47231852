import { isMainThread } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';
import type { AudioFrame } from '../speech/audio/samples.ts';
import {
  asksForTcp,
  type Candidate,
  type Channel,
  mediaKinds,
  type Peer,
  type PeerEvents,
  type PeerMaker,
  type PeerSettings,
  type PeerState,
  withoutTcpPlaces,
} from './peer.ts';

export type Wrtc = typeof import('@roamhq/wrtc');

let loading: Promise<Wrtc> | undefined;

/** Creates peers on @roamhq/wrtc, which is loaded for the first caller. */
export async function loadWrtcPeers(): Promise<PeerMaker> {
  const wrtc = await loadWrtc();
  return (settings, events) => new WrtcPeer(wrtc, settings, events);
}

export async function loadWrtc(): Promise<Wrtc> {
  // In a worker thread the library crashes the process.
  if (!isMainThread) throw new Error('@roamhq/wrtc did not load: it works only in the main thread');
  loading ??= importWrtc();
  try {
    return await loading;
  } catch (error) {
    loading = undefined;
    throw new Error(`@roamhq/wrtc did not load: ${firstLine(errorMessage(error))}. Run "npm ci".`, {
      cause: error,
    });
  }
}

async function importWrtc(): Promise<Wrtc> {
  const { default: wrtc } = (await import('@roamhq/wrtc')) as unknown as { default: Wrtc };
  // The library crashes when a process that used it runs out of work; an explicit exit does not.
  process.once('beforeExit', () => process.exit());
  return wrtc;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}

/** Limits the wait for candidates: with a dead TURN server gathering never ends. */
const gatheringLimitMs = 2000;

/** 10 ms of sound from the sink. */
interface SinkData {
  samples: Int16Array;
  sampleRate: number;
  channelCount?: number;
}

class WrtcPeer implements Peer {
  readonly #wrtc: Wrtc;
  readonly #events: PeerEvents;
  readonly #connection: RTCPeerConnection;
  readonly #source: InstanceType<Wrtc['nonstandard']['RTCAudioSource']>;
  readonly #track: MediaStreamTrack;
  readonly #channels = new Set<WrtcChannel>();
  /** Found so far, by the ICE credentials, which are new after an ICE restart. */
  readonly #candidates = new Map<string, RTCIceCandidate[]>();
  #sink: { track: MediaStreamTrack; stop(): void } | undefined;
  #offeredChannel = false;
  #closed = false;

  constructor(wrtc: Wrtc, { iceServers, portRange }: PeerSettings, events: PeerEvents) {
    this.#wrtc = wrtc;
    this.#events = events;
    this.#source = new wrtc.nonstandard.RTCAudioSource();
    this.#track = this.#source.createTrack();
    const settings = {
      iceServers: iceServers.map((server) => ({ ...server })),
      ...(portRange && { portRange }),
    };
    this.#connection = new wrtc.RTCPeerConnection(settings as RTCConfiguration);
    const changed = () => this.#closed || events.stateChanged();
    this.#connection.addEventListener('connectionstatechange', changed);
    this.#connection.addEventListener('iceconnectionstatechange', changed);
    this.#connection.addEventListener('datachannel', ({ channel }) => this.#adopt(channel, 'client'));
    this.#connection.addEventListener('icecandidate', ({ candidate }) => {
      if (candidate === null) return;
      const ufrag = candidate.usernameFragment ?? '';
      this.#candidates.set(ufrag, [...(this.#candidates.get(ufrag) ?? []), candidate]);
    });
  }

  get state(): PeerState {
    const { connectionState } = this.#connection;
    if (connectionState === 'failed' || connectionState === 'closed') return 'lost';
    return connectionState === 'connected' || connectionState === 'disconnected' ? 'connected' : 'connecting';
  }

  async answer(sdp: string): Promise<string> {
    const offer = withShortPackets(withoutTcpPlaces(sdp));
    await this.#connection.setRemoteDescription({ type: 'offer', sdp: offer });
    await this.#arrange(sdp);
    const answer = await this.#connection.createAnswer();
    await this.#connection.setLocalDescription(answer);
    const { sdp: bare = '' } = answer;
    const ufrag = /^a=ice-ufrag:(\S+)/m.exec(bare)?.[1] ?? '';
    await this.#gathered(ufrag);
    const isWhole = this.#hasGathered(ufrag);
    const whole = isWhole ? this.#connection.localDescription?.sdp : undefined;
    return withShortPackets(whole ?? withCandidates(bare, this.#candidates.get(ufrag) ?? []));
  }

  async addCandidate({ candidate, mid, lineIndex }: Candidate): Promise<void> {
    if (asksForTcp(candidate)) return;
    await this.#connection.addIceCandidate({ candidate, sdpMid: mid, sdpMLineIndex: lineIndex });
  }

  play({ samples, sampleRate }: AudioFrame): void {
    if (!this.#closed) this.#source.onData({ samples, sampleRate });
  }

  rest(): void {
    const track = this.#sink?.track;
    if (track === undefined) return;
    this.#sink?.stop();
    this.#sink = undefined;
    // A timer runs after everything that waits.
    setTimeout(() => this.#listen(track), 0);
  }

  async packetsReceived(): Promise<number> {
    const report = await this.#connection.getStats();
    let packets = 0;
    report.forEach((entry: { type: string; packetsReceived?: number }) => {
      if (entry.type === 'transport') packets += entry.packetsReceived ?? 0;
    });
    return packets;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#sink?.stop();
    this.#track.stop();
    for (const channel of this.#channels) channel.release();
    this.#connection.close();
  }

  /** Sound goes over the first audio line of the offer; the other lines stay inactive. */
  async #arrange(sdp: string): Promise<void> {
    const transceivers = this.#connection.getTransceivers();
    const audio = transceivers.find(({ receiver }) => receiver.track.kind === 'audio');
    for (const transceiver of transceivers) {
      if (transceiver !== audio) transceiver.direction = 'inactive';
    }
    if (audio !== undefined) {
      audio.direction = 'sendrecv';
      await audio.sender.replaceTrack(this.#track);
      this.#listen(audio.receiver.track);
    }
    this.#offerChannel(sdp);
  }

  #listen(track: MediaStreamTrack): void {
    if (this.#closed || this.#sink?.track === track) return;
    this.#sink?.stop();
    const sink = new this.#wrtc.nonstandard.RTCAudioSink(track);
    const hear = (event: unknown) => this.#closed || this.#events.audio(monoFrame(event as SinkData));
    sink.addEventListener('data', hear);
    this.#sink = { track, stop: () => sink.stop() };
  }

  /** An offer without a data line could never open a channel. */
  #offerChannel(sdp: string): void {
    if (this.#offeredChannel || !mediaKinds(sdp).includes('application')) return;
    this.#offeredChannel = true;
    this.#adopt(this.#connection.createDataChannel('chat', { ordered: true }), 'server');
  }

  #adopt(channel: RTCDataChannel, madeBy: Channel['madeBy']): void {
    if (this.#closed) return;
    const adopted = new WrtcChannel(channel, madeBy, {
      opened: () => this.#events.channelOpened(adopted),
      closed: () => {
        this.#channels.delete(adopted);
        this.#events.channelClosed(adopted);
      },
      message: (message) => this.#events.message(adopted, message),
    });
    this.#channels.add(adopted);
  }

  async #gathered(ufrag: string): Promise<void> {
    if (this.#hasGathered(ufrag)) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, gatheringLimitMs);
      this.#connection.addEventListener('icegatheringstatechange', () => {
        if (!this.#hasGathered(ufrag)) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /**
   * Just after an ICE restart the state is still the old one. Does not look at `localDescription`: the library adds
   * candidates to it in another thread, without a lock, and reading it meanwhile can crash the process.
   */
  #hasGathered(ufrag: string): boolean {
    return this.#candidates.has(ufrag) && this.#connection.iceGatheringState === 'complete';
  }
}

/** Sound waits until its packet is full: 20 ms where nobody asks for less, which is heard in both directions. */
const packetMs = 10;

/** Asks for short packets in a description that names no length. */
function withShortPackets(sdp: string): string {
  const [session = '', ...sections] = sdp.split(/^(?=m=)/m);
  const asked = sections.map((section) => {
    const isOpen = section.startsWith('m=audio') && !/^a=(max)?ptime:/m.test(section);
    return isOpen ? `${section.trimEnd()}\r\na=ptime:${packetMs}\r\n` : section;
  });
  return session + asked.join('');
}

/** Adds candidates to the sections of a description that they belong to. */
function withCandidates(sdp: string, candidates: readonly RTCIceCandidate[]): string {
  const [session = '', ...sections] = sdp.split(/^(?=m=)/m);
  const complete = sections.map((section, index) => {
    const own = candidates.filter(({ sdpMLineIndex }) => (sdpMLineIndex ?? 0) === index);
    const lines = own.map(({ candidate }) => `a=${candidate}\r\n`).filter((line) => !section.includes(line));
    return section + lines.join('');
  });
  return session + complete.join('');
}

function monoFrame({ samples, sampleRate, channelCount = 1 }: SinkData): AudioFrame {
  if (channelCount === 1) return { samples, sampleRate };
  const mono = new Int16Array(samples.length / channelCount);
  for (let index = 0; index < mono.length; index += 1) {
    const frame = samples.subarray(index * channelCount, (index + 1) * channelCount);
    mono[index] = frame.reduce((sum, sample) => sum + sample, 0) / channelCount;
  }
  return { samples: mono, sampleRate };
}

interface ChannelEvents {
  opened(): void;
  closed(): void;
  message(message: string | ArrayBuffer): void;
}

class WrtcChannel implements Channel {
  readonly madeBy: Channel['madeBy'];
  readonly #channel: RTCDataChannel;
  /** Reading the library's own state would wait for its threads. */
  #open = false;
  #released = false;

  constructor(channel: RTCDataChannel, madeBy: Channel['madeBy'], events: ChannelEvents) {
    this.#channel = channel;
    this.madeBy = madeBy;
    channel.binaryType = 'arraybuffer';
    let hasOpened = false;
    const opens = () => {
      if (this.#released || hasOpened) return;
      hasOpened = true;
      this.#open = true;
      events.opened();
    };
    channel.addEventListener('open', opens);
    channel.addEventListener('close', () => {
      if (this.#released || !this.#open) return;
      this.#open = false;
      events.closed();
    });
    if (channel.readyState === 'open') queueMicrotask(opens);
    channel.addEventListener('message', ({ data }) => {
      if (this.#released) return;
      // The first message may come before the event of its channel.
      opens();
      events.message(data as string | ArrayBuffer);
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
      // It is closing; its event follows.
    }
  }

  /**
   * Reports and sends nothing from now on. The connection closes its channels itself: every call of a channel can crash the
   * process while the other side closes it, as the library lets go of it in another thread without a lock.
   */
  release(): void {
    this.#released = true;
    this.#open = false;
  }
}
