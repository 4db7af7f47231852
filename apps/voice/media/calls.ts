import { randomUUID } from 'node:crypto';
import type { Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import type { Clock } from '@trunkline/schedule';
import type { Line } from '../call/line.ts';
import type { User } from '../users/user.ts';
import { claimOf, type LineCapacity } from './line-capacity.ts';
import { mediaErrors } from './media-errors.ts';
import { Pacer } from './paced-speaker.ts';
import { type Candidate, mediaKinds, type PeerMaker, type PeerSettings } from './peer.ts';
import { PeerLine } from './peer-line.ts';

/** Of media in an offer; a page has three. */
const mostLines = 32;

export interface CallsOptions {
  /** Loads the WebRTC library, or throws an error that says what to install. */
  loadPeers(): Promise<PeerMaker>;
  settings: PeerSettings;
  lines: LineCapacity;
  /** Called for every caller that has connected. */
  converse(line: Line, user: User, principal: Principal): void;
  observer: CallObserver;
  /** For time limits. */
  clock: Clock;
  /** For packets and sound. */
  mediaClock: Clock;
  logger: Logger;
}

interface CallObserver {
  connected(): void;
  ended(): void;
  framesLate(frames: number): void;
}

export interface Offer {
  sdp: string;
  /** The connection to renegotiate. */
  id: string | undefined;
  /** Whether to replace the connection; the call goes on. */
  restart: boolean;
  /** Of a caller who has waited for a line, or comes back to one. */
  ticket?: string | undefined;
  requestData: unknown;
}

export interface Caller {
  user: User;
  principal: Principal;
  /** Whether they would still be let in with the same rights. */
  stillStands(): boolean;
}

export interface Answer {
  id: string;
  sdp: string;
}

/** The calls of all users. A user reaches only their own. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #calls = new Map<string, PeerLine>();
  /** Those of calls, and of ended ones whose last words are on their way. */
  readonly #lines = new Set<PeerLine>();
  readonly #pacer: Pacer;
  #count = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#pacer = new Pacer({
      clock: options.mediaClock,
      now: () => performance.now(),
      onOverload: () => this.#reportOverload(),
    });
  }

  async offer(offer: Offer, caller: Caller): Promise<Answer> {
    const { user, principal } = caller;
    const reason = whyRefused(offer.sdp);
    if (reason !== undefined) throw mediaErrors.bad_offer({ reason });
    const known = offer.id === undefined ? undefined : this.#find(offer.id, user);
    // A call keeps the rights of the principal who opened it, so only they may take it over. In single-user mode all share one user id.
    if (known !== undefined && isSame(known.principal, principal)) {
      known.stillStands = caller.stillStands;
      return { id: known.id, sdp: await known.answer(offer.sdp, offer.restart) };
    }
    const call = await this.#open(offer, caller);
    try {
      return { id: call.id, sdp: await call.answer(offer.sdp) };
    } catch (error) {
      call.close('the offer could not be answered');
      throw error;
    }
  }

  async addCandidates(id: string, candidates: readonly Candidate[], user: User): Promise<void> {
    await this.#owned(id, user).addCandidates(candidates);
  }

  hangUp(id: string, user: User): void {
    this.#owned(id, user).close('the client hung up');
  }

  stop(): void {
    for (const line of [...this.#lines]) line.end('the service stops');
  }

  async #open({ requestData, ticket }: Offer, caller: Caller): Promise<PeerLine> {
    const { settings, lines, observer, clock, mediaClock, logger, loadPeers } = this.#options;
    const claim = claimOf(caller.principal, ticket);
    // No process starts for a caller who finds all lines busy.
    if (this.#callWith(ticket, caller) === undefined) lines.check(claim);
    const makePeer = await loadPeers();
    const earlier = this.#callWith(ticket, caller);
    if (earlier !== undefined) {
      earlier.close('the caller came back');
      lines.keep(claim);
    }
    lines.admit(claim);
    const call = new PeerLine({
      id: this.#nextId(),
      ...caller,
      requestData,
      ticket,
      makePeer: (events) => makePeer(settings, events),
      pacer: this.#pacer,
      clock,
      mediaClock,
      logger,
      onConnected: (line) => this.#converse(line),
      onReleased: (line) => this.#lines.delete(line),
      onLate: (frames) => observer.framesLate(frames),
    });
    this.#calls.set(call.id, call);
    this.#lines.add(call);
    this.#countCalls();
    call.onClose(() => {
      this.#calls.delete(call.id);
      this.#countCalls();
      if (call.isBroken) lines.keep(claim);
    });
    return call;
  }

  #countCalls(): void {
    const owners = [...this.#calls.values()].map(({ principal }) => claimOf(principal, undefined).owner);
    this.#options.lines.setCalls(owners);
  }

  /** The caller's own call that is open still: its connection broke unnoticed, or its page changes the microphone. */
  #callWith(ticket: string | undefined, { user, principal }: Caller): PeerLine | undefined {
    if (ticket === undefined) return undefined;
    const calls = [...this.#calls.values()].filter((call) => call.ticket === ticket);
    return calls.find((call) => call.user.id === user.id && isSame(call.principal, principal));
  }

  #converse(call: PeerLine): void {
    const { observer, converse } = this.#options;
    observer.connected();
    call.onClose(() => observer.ended());
    converse(call, call.user, call.principal);
  }

  #reportOverload(): void {
    const calls = this.#calls.size;
    this.#options.logger.warn({ calls }, 'overloaded; audio dropped. Lower MAX_CALLS or add processors');
  }

  #nextId(): string {
    const number = this.#count;
    this.#count += 1;
    return `SmallWebRTCConnection#${number}-${randomUUID().replaceAll('-', '')}`;
  }

  #owned(id: string, user: User): PeerLine {
    const call = this.#find(id, user);
    if (call === undefined) throw mediaErrors.connection_unknown();
    return call;
  }

  /** Another user's call counts as unknown. */
  #find(id: string, user: User): PeerLine | undefined {
    const call = this.#calls.get(id);
    return call?.user.id === user.id ? call : undefined;
  }
}

/** Every line costs the process of all calls time. */
function whyRefused(sdp: string): string | undefined {
  const kinds = mediaKinds(sdp);
  if (!kinds.includes('audio')) return 'it has no audio line';
  return kinds.length > mostLines ? `it has more than ${mostLines} lines of media` : undefined;
}

function isSame(one: Principal, other: Principal): boolean {
  return one.kind === other.kind && one.id === other.id;
}
