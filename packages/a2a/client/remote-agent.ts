import type { JsonWebKey } from 'node:crypto';
import type { Principal } from '@trunkline/identity';
import type { CardSignature } from '../card/card-signing.ts';
import {
  type Artifact,
  type Message,
  type Metadata,
  type Part,
  type TaskState,
  textOf,
} from '../protocol/model.ts';

const words = {
  agent_unreachable: (name: string, reason: string) =>
    `The agent ${name} could not be reached${reason === '' ? '' : ` (${reason})`}.`,
  agent_timeout: (name: string) => `The agent ${name} did not answer in time.`,
  agent_unauthorized: (name: string) => `The agent ${name} did not accept our credentials.`,
  agent_unknown_caller: (name: string) =>
    `The agent ${name} answers only callers it knows, and whoever asks here showed no key. The operator can sign in with "npx trunkline login", or give callers a key of their own, for voice in users.yaml.`,
  agent_error: (name: string, reason: string) => `The agent ${name} answered with an error: ${reason}`,
  agent_failed: (name: string, reason: string) => `The agent ${name} could not do it: ${reason}`,
  agent_no_answer: (name: string) => `The agent ${name} finished without an answer.`,
  agent_unverified: (name: string, reason: string) =>
    `The agent ${name} is not asked: ${reason}. Check cardKeys or cardJwks of its entry.`,
  agent_elsewhere: (name: string, hosts: string) =>
    `The agent ${name} is not asked: its card places it at another host or port than its address (${hosts}). If that is right, add the host to cardHosts of its entry, or pin the key of its card with cardKeys.`,
  agent_unreadable: (name: string) => `The agent ${name} answered in a way that could not be understood.`,
} as const;

const longestReason = 300;

/** Another agent that we may call. */
export interface RemoteAgent {
  /** For people: it stands in error messages. */
  name: string;
  /** The address of its A2A endpoint, of its card, or of the service. */
  url: string;
  credentials?: RemoteCredentials;
  /**
   * Set for our own services: the token between them, the name under which this one hands requests on, and theirs.
   * @internal
   */
  peer?: { token: string; name: string; to: string };
  /**
   * One of our own services without that token: it is asked at the configured host, whatever public address its card has.
   * @internal
   */
  ownService?: true;
  /** Whose signature its card must have: these keys, or those at an address. Left out, any card is believed. */
  trust?: { keys?: readonly JsonWebKey[]; jwks?: string };
  /** Other hosts (`name` or `name:port`) where its card may place it: what we send, credentials included, goes there too. */
  cardHosts?: readonly string[];
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>;
  /**
   * `discover` (default) reads the agent's card and speaks the best version both know.
   * `0.3` sends what the contracts prescribe, with no request but the one, unless nobody speaks 0.3 at the address.
   */
  protocol?: 'discover' | '0.3';
}

/** Whether the agent is called without its card. One whose card must be signed never is. */
export function needsNoCard({ protocol, trust }: RemoteAgent): boolean {
  return protocol === '0.3' && trust === undefined;
}

/** Whether more than the message goes out; headers of an agent's own may hold a key too. */
export function hasCredentials(agent: RemoteAgent): boolean {
  // Not in the parameter: the declarations of the library leave `peer` out.
  const { credentials = {}, peer, headers = {} } = agent;
  const isKnown = Object.values(credentials).some((value) => value !== undefined);
  return isKnown || peer !== undefined || Object.keys(headers).length > 0;
}

export function isOwnService(agent: RemoteAgent): boolean {
  return agent.peer !== undefined || agent.ownService === true;
}

/** Several may be set; all that are set are sent. */
export interface RemoteCredentials {
  /** Sent as `X-API-Key`. */
  apiKey?: string;
  /** Sent as `Authorization: Bearer`. */
  bearer?: string;
  /** Signs each request. */
  hmacSecret?: string;
}

export type RemoteErrorCode = keyof typeof words;

/** A failed call to another agent; its message can be spoken or shown. */
export class RemoteAgentError extends Error {
  readonly code: RemoteErrorCode;
  readonly agent: string;

  constructor(code: RemoteErrorCode, agent: RemoteAgent, reason = '', options?: ErrorOptions) {
    super(words[code](agent.name, oneLine(reason)), options);
    this.name = 'RemoteAgentError';
    this.code = code;
    this.agent = agent.name;
  }
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= longestReason ? line : `${line.slice(0, longestReason - 1)}…`;
}

/** States of other agents, whose tasks may be `submitted` first. */
export type RemoteState = TaskState | 'submitted' | 'unknown';

/** What another agent answered. */
export interface RemoteReply {
  /** Missing when the agent answered with a plain message. */
  taskId?: string;
  contextId?: string;
  state: RemoteState;
  /** The answer: the text of all artifacts, else what stands in the status. */
  text: string;
  /** Files of the message in its status are one more, `status`. */
  artifacts: readonly Artifact[];
  /** What the agent says about its state: the question, or why it failed. */
  statusText: string;
}

/** A task as its agent reports it. */
export interface ReportedTask {
  id: string;
  contextId: string;
  state: RemoteState;
  artifacts: readonly Artifact[];
  statusMessage: Message | undefined;
}

export function replyOfTask(task: ReportedTask): RemoteReply {
  const { state, artifacts } = task;
  const parts: readonly Part[] = task.statusMessage?.parts ?? [];
  const statusText = textOf(parts);
  // Of a task that waits, data is the form of its question.
  const isContent = ({ type }: Part) => type === 'file' || (type === 'data' && state === 'completed');
  const more = parts.filter(isContent);
  return {
    taskId: task.id,
    contextId: task.contextId,
    state,
    artifacts: more.length === 0 ? artifacts : [...artifacts, { artifactId: 'status', parts: more }],
    text: textOfArtifacts(artifacts) ?? statusText,
    statusText,
  };
}

export function replyOfMessage(parts: readonly Part[], contextId: string | undefined): RemoteReply {
  const text = textOf(parts);
  return {
    ...(contextId !== undefined && { contextId }),
    state: 'completed',
    artifacts: [{ artifactId: 'message', parts }],
    text,
    statusText: '',
  };
}

/** All text parts in order: servers keep the pieces of a streamed answer apart. Undefined where there is none. */
export function textOfArtifacts(artifacts: readonly Artifact[]): string | undefined {
  const texts = artifacts.map(({ parts }) =>
    parts.flatMap((part) => (part.type === 'text' ? part.text : [])),
  );
  const spoken = texts.filter((pieces) => pieces.length > 0);
  return spoken.length === 0 ? undefined : spoken.map((pieces) => pieces.join('')).join('\n\n');
}

/** The first text part of the first artifact that has one, as the contracts of voice and external agents have it. */
export function firstText(artifacts: readonly Artifact[]): string | undefined {
  for (const { parts } of artifacts) {
    const part = parts.find((candidate) => candidate.type === 'text');
    if (part?.type === 'text') return part.text;
  }
  return undefined;
}

export interface OutgoingMessage {
  text: string;
  /** Continues a conversation. */
  contextId?: string;
  /** Answers a task that waits. */
  taskId?: string;
  messageId?: string;
  metadata?: Metadata;
  /** Data and files that go with the text. */
  parts?: readonly Part[];
  extensions?: readonly string[];
  /** Other tasks that it is about. */
  referenceTaskIds?: readonly string[];
  /** Media types that the answer may have; left out, all. */
  acceptedOutputModes?: readonly string[];
  /** Webhook for an answer that comes after the call has ended. */
  push?: { url: string; token: string };
}

/** A message as it goes out. */
export interface SentMessage extends OutgoingMessage {
  messageId: string;
  /** Metadata of the message alone, not of the request. */
  ownMetadata?: Metadata;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** For the whole call; of a stream, between two of its events. Default 60 seconds. */
  timeoutMs?: number;
  /**
   * On whose behalf one of our own services is asked; anonymous when not given. Strangers are not told.
   * @internal
   */
  principal?: Principal | undefined;
  /** When the signal ends a stream, the agent is told to cancel the task; else it goes on without a reader. */
  cancelOnAbort?: boolean;
}

/** A webhook that an agent tells about a task. */
export interface PushTarget {
  url: string;
  /** Sent with each notification, so that the receiver knows where it comes from. */
  token?: string;
  /** Several webhooks of one task have ids of their own. */
  id?: string;
}

/** A webhook as the agent keeps it; agents do not show tokens. */
export interface PushConfig {
  id: string;
  taskId: string;
  url: string;
}

export interface TaskQuery {
  contextId?: string;
  state?: TaskState;
  pageSize?: number;
  /** The `nextPageToken` of the page before. */
  pageToken?: string;
  includeArtifacts?: boolean;
}

export interface TaskList {
  tasks: RemoteReply[];
  totalSize: number;
  /** Empty on the last page. */
  nextPageToken: string;
}

/** Events of a running task. The last one is always `task-end`. */
export type RemoteEvent =
  | { type: 'task-start'; taskId: string; contextId: string }
  | { type: 'status'; state: RemoteState; text: string }
  | { type: 'text-delta'; text: string }
  | { type: 'artifact'; artifact: Artifact }
  | { type: 'task-end'; reply: RemoteReply };

/** The fields of an agent's card that we use. */
export interface RemoteCard {
  name: string;
  description: string;
  streaming: boolean;
  pushNotifications: boolean;
  skills: { id: string; name: string; description: string }[];
  signature: CardSignature;
}

/** Calls other agents. Every failure is a `RemoteAgentError` whose words can be spoken or shown. */
export interface A2aClient {
  send(agent: RemoteAgent, message: OutgoingMessage, options?: CallOptions): Promise<RemoteReply>;
  /** The text of the answer; an agent that gives none, fails or asks back is an error. */
  ask(agent: RemoteAgent, message: OutgoingMessage, options?: CallOptions): Promise<string>;
  stream(agent: RemoteAgent, message: OutgoingMessage, options?: CallOptions): AsyncIterable<RemoteEvent>;
  get(agent: RemoteAgent, taskId: string, options?: CallOptions): Promise<RemoteReply>;
  cancel(agent: RemoteAgent, taskId: string, options?: CallOptions): Promise<RemoteReply>;
  /** Follows a task that is under way, to its end; one that has ended gives its end alone. */
  subscribe(agent: RemoteAgent, taskId: string, options?: CallOptions): AsyncIterable<RemoteEvent>;
  /** One page of tasks, the newest first. */
  list(agent: RemoteAgent, query?: TaskQuery, options?: CallOptions): Promise<TaskList>;
  /** Has a webhook told when a task changes. */
  setPush(agent: RemoteAgent, taskId: string, push: PushTarget, options?: CallOptions): Promise<PushConfig>;
  getPush(agent: RemoteAgent, taskId: string, id: string, options?: CallOptions): Promise<PushConfig>;
  listPush(agent: RemoteAgent, taskId: string, options?: CallOptions): Promise<PushConfig[]>;
  deletePush(agent: RemoteAgent, taskId: string, id: string, options?: CallOptions): Promise<void>;
  /** Fetches the card again; other calls use one read in the last ten minutes. */
  card(agent: RemoteAgent, options?: CallOptions): Promise<RemoteCard>;
  /** What the agent shows of itself to those whom it knows; the public card where it has no other. */
  extendedCard(agent: RemoteAgent, options?: CallOptions): Promise<RemoteCard>;
}
