export const cases = [
  'card',
  'send',
  'stream',
  'resubscribe',
  'question',
  'cancel',
  'push',
  'errors',
  'files',
] as const;
export type Case = (typeof cases)[number];

/**
 * By case, why a peer cannot do something; it stands below the table. "research: send" is for one service, where
 * undefined says that it can.
 */
export type Reasons = Readonly<Record<string, string | undefined>>;

/** Another implementation of A2A: one file in peers/ that exports one of these as `peer`. */
export interface Peer {
  name: string;
  /** Folder in node_modules; its version is shown. */
  package: string;
  /** How it calls us, by version and transport. */
  clients?: Record<string, PeerClient>;
  /** How it is called by us. */
  servers?: Record<string, PeerServer>;
}

interface Known {
  /** What it has no call for: not tried. */
  lacks?: Reasons;
  /** What goes wrong on its side: tried, and the run fails once it works. */
  fails?: Reasons;
}

interface PeerClient extends Known {
  /** Makes a client for a service of ours, as the peer's guide says: from the address of the service. */
  connect(url: string): Promise<Calls>;
}

/** What the peer's client can do, in words of our own; cases whose calls are missing here stand in `lacks`. */
export interface Calls {
  /** The agent's name as the peer read it from the card. */
  card?(): Promise<string>;
  send?(message: Outgoing): Promise<Reply>;
  stream?(message: Outgoing): AsyncIterable<Reply>;
  subscribe?(taskId: string): AsyncIterable<Reply>;
  cancel?(taskId: string): Promise<Reply>;
  get?(taskId: string): Promise<Reply>;
  setPush?(taskId: string, hook: { url: string; token: string }): Promise<void>;
}

interface Outgoing {
  text: string;
  /** The reply that this answers. */
  after?: Reply;
  file?: { name: string; mediaType: string /** Base64. */; bytes: string };
}

/** A whole answer, or one event of a stream. Frameworks hide the task; then there is text only. */
export interface Reply {
  text: string;
  /** In the words of 0.3: input-required, completed, canceled. */
  state?: string;
  taskId?: string;
  contextId?: string;
}

interface PeerServer extends Known {
  /**
   * Starts an agent that answers "Peer says: TEXT" in two pieces, asks back when it is told to "ask", works until it is
   * cancelled (where it cannot be, until it is told to "go") when told to "wait", and answers a file with "Peer got NAME TYPE BASE64".
   */
  start(): Promise<{ url: string; stop(): Promise<void> | void }>;
}
