import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { type Logger, readVariables } from '@trunkline/config';
import { TimeoutError, withTimeout } from '@trunkline/std';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { AudioPipe } from './audio-pipe.ts';
import { mediaErrors } from './media-errors.ts';
import type { Candidate, Channel, Peer, PeerEvents, PeerMaker, PeerSettings, PeerState } from './peer.ts';
import { audioDescriptor, type HostMessage, type HostRequest } from './peer-messages.ts';

/** For the library to load on a busy machine. */
const startMs = 60_000;
const replyMs = 30_000;
/** A process that owes a reply and has sent nothing at all for this long hangs. */
const silentMs = 20_000;
const longestStderr = 2000;

let running: Promise<Host> | undefined;

/**
 * Creates peers in a process of their own, which is started for the first caller, and again after a crash. @roamhq/wrtc
 * crashes its process when a message is sent to a caller whose page closes the connection at that moment; this way that
 * costs the connections, which pages open again by themselves, and not the service.
 */
export async function loadProcessPeers(logger: Logger): Promise<PeerMaker> {
  running ??= startAndWatch(logger);
  const host = await running;
  return (settings, events) => host.create(settings, events, logger);
}

/** Forgets the process when it fails to start or ends, so that the next caller starts another. */
function startAndWatch(logger: Logger): Promise<Host> {
  const forget = () => {
    if (running === own) running = undefined;
  };
  const own = startHost(logger, forget);
  own.catch(forget);
  return own;
}

async function startHost(logger: Logger, onEnd: () => void): Promise<Host> {
  // The host gets no secrets of the service.
  const env = Object.fromEntries(
    readVariables(/^(PATH|HOME|LD_LIBRARY_PATH|NODE_COMPILE_CACHE|SystemRoot|TEMP|TMP|TMPDIR)$/),
  );
  const child = fork(new URL('./peer-host.ts', import.meta.url), [], {
    env,
    execArgv: [],
    serialization: 'advanced',
    // The last one carries sound: a pipe both ways, which Windows calls overlapped.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'overlapped'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (reason: string) =>
    reject(mediaErrors.webrtc_missing({ reason: reason.split('\n', 1)[0] ?? '' }));
  child.on('error', (error) => fail(error.message));
  // Where no file descriptor is left, Node returns a child without pipes, and emits its error next.
  const sound = child.stdio?.[audioDescriptor] as Socket | undefined;
  if (sound === undefined) return promise as Promise<never>;
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-longestStderr);
  });
  const host = new Host(child, sound);
  let isReady = false;
  child.on('message', (message: HostMessage) => {
    if (message.type === 'ready') {
      isReady = true;
      resolve();
    } else if (message.type === 'failed') fail(message.reason);
    else host.receive(message);
  });
  child.once('disconnect', () => {
    host.end();
    onEnd();
  });
  // Without it all calls would be mute, while messages still pass.
  sound.once('close', () => {
    if (!host.hasEnded) logger.error({}, 'audio pipe closed; ending the WebRTC process');
    host.kill();
  });
  // All of stderr has been read.
  child.once('close', (code, signal) => {
    const reason = `its process ended with ${signal ?? code}`;
    fail(reason);
    if (isReady) logger.error({ reason, stderr }, 'WebRTC process ended; its calls are lost');
  });
  try {
    await withTimeout({ timeoutMs: startMs }, () => promise);
  } catch (error) {
    child.kill('SIGKILL');
    throw error instanceof TimeoutError ? mediaErrors.webrtc_missing({ reason: error.message }) : error;
  }
  // Calls keep the service running, and it keeps this.
  child.unref();
  child.channel?.unref();
  (child.stderr as Socket | null)?.unref();
  sound.unref();
  return host;
}

class Host {
  readonly #child: ChildProcess;
  readonly #peers = new Map<number, RemotePeer>();
  readonly #replies = new Map<number, PromiseWithResolvers<string | number>>();
  readonly #sound: AudioPipe;
  #count = 0;
  /** When the last message came. */
  #receivedAt = 0;
  #hasEnded = false;

  constructor(child: ChildProcess, sound: Socket) {
    this.#child = child;
    this.#sound = new AudioPipe(sound, (peer, frame) => {
      this.#receivedAt = performance.now();
      this.#peers.get(peer)?.hear(frame);
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded || !this.#child.connected;
  }

  create(settings: PeerSettings, events: PeerEvents, logger: Logger): Peer {
    this.#count += 1;
    const id = this.#count;
    const peer = new RemotePeer(id, this, { events, logger, forget: () => this.#peers.delete(id) });
    this.#peers.set(id, peer);
    if (this.hasEnded) peer.state = 'lost';
    else this.tell({ type: 'create', peer: id, settings });
    return peer;
  }

  tell(message: HostRequest, onSent?: () => void): void {
    if (!this.hasEnded) this.#child.send(message, () => onSent?.());
  }

  play(peer: number, frame: AudioFrame): void {
    this.#sound.send(peer, frame);
  }

  /** Sends what `message` makes of the number of a request, and waits for the reply. */
  async ask(message: (request: number) => HostRequest): Promise<string | number> {
    this.#count += 1;
    const request = this.#count;
    const reply = Promise.withResolvers<string | number>();
    this.#replies.set(request, reply);
    if (this.hasEnded) reply.reject(new Error('the WebRTC process has ended'));
    this.tell(message(request));
    try {
      return await withTimeout({ timeoutMs: replyMs }, () => reply.promise);
    } catch (error) {
      // While it serves other calls, only this request has failed.
      const isSilent = performance.now() - this.#receivedAt > silentMs;
      if (error instanceof TimeoutError && isSilent) this.kill();
      throw error;
    } finally {
      this.#replies.delete(request);
    }
  }

  receive(message: Exclude<HostMessage, { type: 'ready' | 'failed' }>): void {
    this.#receivedAt = performance.now();
    if (message.type === 'reply') this.#replies.get(message.request)?.resolve(message.result);
    else if (message.type === 'refused')
      this.#replies.get(message.request)?.reject(new Error(message.reason));
    else this.#peers.get(message.peer)?.receive(message);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    this.end();
  }

  /** The process has ended, or was killed. */
  end(): void {
    this.#hasEnded = true;
    for (const peer of [...this.#peers.values()]) peer.lose();
    for (const { reject } of this.#replies.values()) reject(new Error('the WebRTC process has ended'));
    this.#peers.clear();
  }
}

type PeerMessage = Extract<HostMessage, { peer: number }>;

interface RemotePeerOptions {
  events: PeerEvents;
  logger: Logger;
  forget(): void;
}

class RemotePeer implements Peer {
  readonly #id: number;
  readonly #host: Host;
  readonly #options: RemotePeerOptions;
  readonly #channels = new Map<number, RemoteChannel>();
  #resting = false;
  #closed = false;
  /** Why the process gave this connection up. */
  #failure: string | undefined;
  state: PeerState = 'connecting';

  constructor(id: number, host: Host, options: RemotePeerOptions) {
    this.#id = id;
    this.#host = host;
    this.#options = options;
  }

  async answer(sdp: string): Promise<string> {
    try {
      return String(await this.#ask((request) => ({ type: 'answer', peer: this.#id, request, sdp })));
    } catch (error) {
      if (this.#host.hasEnded) throw mediaErrors.webrtc_ended();
      if (this.#failure !== undefined) throw new Error(`WebRTC connection failed: ${this.#failure}`);
      throw mediaErrors.bad_offer({ reason: (error as Error).message }, { cause: error });
    }
  }

  async addCandidate(candidate: Candidate): Promise<void> {
    try {
      await this.#ask((request) => ({ type: 'candidate', peer: this.#id, request, candidate }));
    } catch (error) {
      if (this.#host.hasEnded) throw mediaErrors.webrtc_ended();
      throw mediaErrors.bad_candidate({ reason: (error as Error).message }, { cause: error });
    }
  }

  play(frame: AudioFrame): void {
    if (!this.#closed) this.#host.play(this.#id, frame);
  }

  rest(): void {
    this.#resting = true;
    // A timer runs after everything that waits.
    setTimeout(() => {
      this.#resting = false;
    }, 0);
  }

  async packetsReceived(): Promise<number> {
    return Number(await this.#ask((request) => ({ type: 'count', peer: this.#id, request })));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.forget();
    this.#host.tell({ type: 'close', peer: this.#id });
  }

  /** The process has ended, or gave it up. */
  lose(): void {
    this.state = 'lost';
    if (!this.#closed) this.#options.events.stateChanged();
  }

  hear(frame: AudioFrame): void {
    if (!this.#resting) this.#options.events.audio(frame);
  }

  receive(message: PeerMessage): void {
    if (message.type === 'state') {
      this.state = message.state;
      this.#options.events.stateChanged();
    } else if (message.type === 'broken') {
      this.#failure = message.reason;
      this.#options.logger.error({ reason: message.reason }, 'WebRTC connection failed');
      this.lose();
    } else if (message.type === 'opened') {
      const { channel: number, madeBy } = message;
      const channel = new RemoteChannel(madeBy, (text, onSent) =>
        this.#host.tell({ type: 'send', peer: this.#id, channel: number, text }, onSent),
      );
      this.#channels.set(number, channel);
      this.#options.events.channelOpened(channel);
    } else this.#receiveOf(message);
  }

  #receiveOf(message: Extract<PeerMessage, { type: 'closed' | 'buffered' | 'message' }>): void {
    const channel = this.#channels.get(message.channel);
    if (channel === undefined) return;
    if (message.type === 'buffered') channel.buffered = message.bytes;
    else if (message.type === 'message') this.#options.events.message(channel, message.message);
    else {
      this.#channels.delete(message.channel);
      this.#options.events.channelClosed(channel);
    }
  }

  #ask(message: (request: number) => HostRequest): Promise<string | number> {
    return this.#host.ask(message);
  }
}

class RemoteChannel implements Channel {
  readonly madeBy: Channel['madeBy'];
  readonly #send: (text: string, onSent: () => void) => void;
  /** Bytes that wait in the process, as it last reported. */
  buffered = 0;
  /** Characters that the process has not read. */
  #unread = 0;

  constructor(madeBy: Channel['madeBy'], send: (text: string, onSent: () => void) => void) {
    this.madeBy = madeBy;
    this.#send = send;
  }

  get waiting(): number {
    return this.buffered + this.#unread;
  }

  send(text: string): void {
    this.#unread += text.length;
    this.#send(text, () => {
      this.#unread -= text.length;
    });
  }
}
