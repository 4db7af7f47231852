import type { Principal } from '@trunkline/identity';

/** Where a message came from. */
export interface Source {
  interface: string;
  channelId?: string;
  userId?: string;
}

/** Where an answer goes. */
export interface ReplyAddress {
  topic: string;
  format?: string;
}

/** A message on the bus. Frozen, as handlers share it. */
export interface Message {
  readonly id: string;
  readonly correlationId: string;
  readonly parentId?: string;
  readonly topic: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** Any JSON value. */
  readonly payload: unknown;
  readonly source?: Source;
  readonly reply?: ReplyAddress;
  /** On whose behalf it was published; set by who publishes, never read from what a client sent. Nobody known when missing. */
  readonly principal?: Principal;
}

/** What a publisher gives: the id, the time and the correlation (the id then) are made when missing. */
export interface Draft {
  topic: string;
  payload: unknown;
  id?: string | undefined;
  correlationId?: string | undefined;
  parentId?: string | undefined;
  timestamp?: number | undefined;
  source?: Source | undefined;
  reply?: ReplyAddress | undefined;
  principal?: Principal | undefined;
}

export interface Published {
  id: string;
  correlationId: string;
}

export interface Delivery {
  /** 1 at first; grows when a durable subscription's handler failed, or its process ended, more than once, meanwhile. */
  readonly attempt: number;
  /** Aborted when the bus stops and will not wait any longer. */
  readonly signal: AbortSignal;
  /**
   * Aborted as soon as the bus begins to stop. A durable handler that merely waits for somebody can throw then:
   * that counts as no attempt, and the message comes again after the start.
   */
  readonly stopping: AbortSignal;
  /**
   * Counts the attempt: a crash before this call is not held against the message. Called by the bus itself unless the
   * subscription asked for `explicitBegin`.
   */
  begin(): Promise<void>;
}

export type Handler = (message: Message, delivery: Delivery) => void | Promise<void>;

/** What a subscription that is not durable gives up when its queue is full. */
export type QueuePolicy = 'drop-oldest' | 'drop-newest';

export interface SubscribeOptions {
  /** Keeps a cursor under this name: every journalled message is handled at least once, also after a restart. */
  durable?: string;
  /** Each message goes to one of the subscriptions with the same pattern (or durable name) and group. */
  group?: string;
  /** Handlers at work at once; 1 keeps the order. */
  concurrency?: number;
  /** Messages waiting in memory; default 1000. */
  queueLimit?: number;
  /** Default `drop-oldest`. A durable subscription drops nothing: what does not fit waits in the journal. */
  policy?: QueuePolicy;
  /** Durable only: the handler calls `delivery.begin()` when it starts to work, having waited for its turn before. */
  explicitBegin?: boolean;
  /** Named in `system.error` when the handler fails. */
  plugin?: string;
}

export interface Subscription {
  readonly pattern: string;
  /** Takes no more messages; a durable name keeps its cursor. Handlers already at work end by themselves. */
  unsubscribe(): Promise<void>;
  /** Unsubscribes and gives up the cursor of the durable name. */
  forget(): Promise<void>;
}

export interface RequestOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  correlationId?: string;
  source?: Source;
  principal?: Principal | undefined;
}

export interface HistoryQuery {
  /** A topic or a pattern. */
  topic?: string;
  correlationId?: string;
  /** Gives the first messages after this position; without it, the newest ones. */
  after?: number;
  /** Without `after`: gives the newest messages before this position. */
  before?: number;
  /** Default 100, at most 1000. */
  limit?: number;
}

export interface HistoryEntry {
  /** Grows along the journal. */
  position: number;
  message: Message;
}

export interface DeadLetter {
  id: string;
  durable: string;
  attempts: number;
  error: string;
  /** When it was given up, in milliseconds since 1970. */
  buriedAt: number;
  message: Message;
}

/** A dead letter goes once more to the durable name that failed; a cursor set back goes over all again from there. */
export type ReplayTarget = { deadLetterId: string } | { durable: string; after: number };

export interface LeaseOptions {
  /** At least 1000. A holder that dies is followed by another after about this time, sooner where its connection ended with it. */
  ttlMs: number;
  /** Called when the lease is won (with its token) or lost. */
  onChange?: (token: number | undefined) => void;
}

/** A right that one holder at a time has, among all that share the bus. */
export interface Lease {
  readonly name: string;
  /** While held: a number that grows with every holder, so that a store can refuse a former one. */
  readonly token: number | undefined;
  /** Asks the store whether the lease is still held and gives its token; throws `lease_lost` otherwise. */
  confirm(): Promise<number>;
  release(): Promise<void>;
}

export interface MemoryOptions {
  /** At least 1000. */
  ttlMs: number;
  /** Characters of a value; default 1024, at most 300,000. */
  longest?: number;
}

/** Texts by key that all who share the bus keep for a while. */
export interface Memory {
  recall(key: string): Promise<string | undefined>;
  /** Keeps a value unless there is one under this key; gives the one that is kept. */
  keep(key: string, value: string): Promise<string>;
  /** Keeps a value in place of any other, its time beginning anew; of two at once the later one stays. */
  replace(key: string, value: string): Promise<void>;
  /** Gives up what is kept under a key. */
  forget(key: string): Promise<void>;
}

export interface BusStatus {
  engine: 'embedded' | 'nats';
  connected: boolean;
  subscriptions: number;
  /** Messages waiting in memory for handlers. */
  queued: number;
  /** Publishes not answered yet. */
  pending: number;
  /** Messages given up because a queue was full, since the start. */
  dropped: number;
  /** Why it has not been connected since the start, in words. */
  problem?: string;
}

/** Where the bus stores its data. */
export interface BusCluster {
  /** Name of the cluster; missing for a server of its own and for the embedded engine. */
  name?: string;
  /** The server that this process is connected to, and its version. */
  server?: string;
  serverVersion?: string;
  /** Why the servers should be replaced, in words. */
  warning?: string;
  /** Journalled messages that this process, and no other, has yet to handle under its durable names. */
  behind?: number;
  streams: BusStream[];
}

/** A stream or bucket on NATS, as its leader sees it. */
export interface BusStream {
  name: string;
  /** Copies that are kept. */
  replicas: number;
  /** The server that leads; missing while none does. */
  leader?: string;
  /** The other servers that have a copy. */
  peers: { name: string; current: boolean; silentMs: number; lag: number }[];
  messages: number;
  bytes: number;
}

export interface Bus {
  /** Accepts a message. On a durable topic it is in the journal when the promise resolves. */
  publish(draft: Draft): Promise<Published>;
  /** False when nobody would get a message of this topic and it is not journalled: it need not be made. */
  isHeard(topic: string): boolean;
  subscribe(pattern: string, handler: Handler, options?: SubscribeOptions): Promise<Subscription>;
  /** Publishes with a reply address of its own and gives the first answer. */
  request(topic: string, payload: unknown, options: RequestOptions): Promise<Message>;
  /** Journalled messages, oldest first. */
  history(query?: HistoryQuery): Promise<HistoryEntry[]>;
  /** The newest dead letters, oldest first; at most 1000. */
  deadLetters(): Promise<DeadLetter[]>;
  replay(target: ReplayTarget): Promise<void>;
  lease(name: string, options: LeaseOptions): Promise<Lease>;
  memory(name: string, options: MemoryOptions): Promise<Memory>;
  status(): BusStatus;
  /** Asks the journal; rejects with `unavailable` when it could not store a message now. */
  probe(): Promise<void>;
  cluster(): Promise<BusCluster>;
  /** Lets handlers at work end (up to the drain time), then closes. */
  stop(): Promise<void>;
}

/** The logger of the bus, in pino's shape. */
export interface BusLogger {
  info(details: object, text: string): void;
  warn(details: object, text: string): void;
  error(details: object, text: string): void;
}
