import { wordsOf } from '../errors.ts';
import type { AudioFrame } from '../speech/audio/frame.ts';
import { mediaErrors } from './errors.ts';
import type { Candidate, Channel, Peer, PeerEvents, PeerSettings, PeerState } from './peer.ts';
import { hasCandidates, mediaKinds } from './sdp.ts';
import type { Wrtc } from './wrtc.ts';
import { WrtcChannel } from './wrtc-channel.ts';

/** How long an answer waits for candidates: a dead TURN server never ends the search. */
const gatheringLimitMs = 2000;

/** What the sink gives for 10 ms. */
interface SinkData {
  samples: Int16Array;
  sampleRate: number;
  channelCount?: number;
}

/** A peer on @roamhq/wrtc. */
export class WrtcPeer implements Peer {
  readonly #wrtc: Wrtc;
  readonly #events: PeerEvents;
  readonly #connection: RTCPeerConnection;
  readonly #source: InstanceType<Wrtc['nonstandard']['RTCAudioSource']>;
  readonly #track: MediaStreamTrack;
  readonly #channels = new Set<WrtcChannel>();
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
  }

  get state(): PeerState {
    const { connectionState } = this.#connection;
    if (connectionState === 'failed' || connectionState === 'closed') return 'lost';
    return connectionState === 'connected' || connectionState === 'disconnected' ? 'connected' : 'connecting';
  }

  async answer(sdp: string): Promise<string> {
    try {
      await this.#connection.setRemoteDescription({ type: 'offer', sdp });
      await this.#arrange(sdp);
      await this.#connection.setLocalDescription(await this.#connection.createAnswer());
    } catch (error) {
      throw mediaErrors.bad_offer({ reason: wordsOf(error) }, { cause: error });
    }
    await this.#gathered();
    return this.#connection.localDescription?.sdp ?? '';
  }

  async addCandidate({ candidate, mid, lineIndex }: Candidate): Promise<void> {
    try {
      await this.#connection.addIceCandidate({ candidate, sdpMid: mid, sdpMLineIndex: lineIndex });
    } catch (error) {
      throw mediaErrors.bad_candidate({ reason: wordsOf(error) }, { cause: error });
    }
  }

  play({ samples, sampleRate }: AudioFrame): void {
    if (!this.#closed) this.#source.onData({ samples, sampleRate });
  }

  rest(): void {
    const track = this.#sink?.track;
    if (track === undefined) return;
    this.#sink?.stop();
    this.#sink = undefined;
    // A timer runs once all that waits is dealt with.
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
    for (const channel of this.#channels) channel.close();
    this.#connection.close();
  }

  /** Sound goes over the first audio line of the offer; what comes over other lines is not asked for. */
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

  /** An offer without the line for data could never open a channel. */
  #offerChannel(sdp: string): void {
    if (this.#offeredChannel || !mediaKinds(sdp).includes('application')) return;
    this.#offeredChannel = true;
    this.#adopt(this.#connection.createDataChannel('chat', { ordered: true }), 'server');
  }

  #adopt(channel: RTCDataChannel, madeBy: Channel['madeBy']): void {
    if (this.#closed) {
      channel.close();
      return;
    }
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

  async #gathered(): Promise<void> {
    if (this.#hasGathered) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, gatheringLimitMs);
      this.#connection.addEventListener('icegatheringstatechange', () => {
        if (!this.#hasGathered) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** After a restart the state still is that of the time before. */
  get #hasGathered(): boolean {
    const { iceGatheringState, localDescription } = this.#connection;
    return iceGatheringState === 'complete' && hasCandidates(localDescription?.sdp ?? '');
  }
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
