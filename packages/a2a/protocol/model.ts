export type ProtocolVersion = '0.3' | '1.0';

/** Which state may follow which: the contract's table, with the two states that A2A adds. */
const transitions: Record<TaskState, readonly TaskState[]> = {
  working: ['working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'],
  'input-required': ['working', 'canceled', 'failed'],
  'auth-required': ['working', 'canceled', 'failed'],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

/** States as the 0.3 wire names them; the 1.0 wire has its own spelling. */
export type TaskState =
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected';

export type Metadata = Record<string, unknown>;

/** What any part may have beside its content. */
interface PartLabels {
  /** A file name. */
  name?: string;
  mediaType?: string;
  metadata?: Metadata;
}

interface TextPart extends PartLabels {
  type: 'text';
  text: string;
}

interface DataPart extends PartLabels {
  type: 'data';
  data: unknown;
}

/** A file by its content (`bytes`, in base64) or by its place (`uri`). */
export interface FilePart extends PartLabels {
  type: 'file';
  bytes?: string;
  uri?: string;
}

export type Part = TextPart | DataPart | FilePart;

export interface Message {
  messageId: string;
  role: 'user' | 'agent';
  parts: readonly Part[];
  taskId?: string;
  contextId?: string;
  metadata?: Metadata;
  /** URIs of the extensions that it uses. */
  extensions?: readonly string[];
  /** Other tasks that it is about. */
  referenceTaskIds?: readonly string[];
}

export interface Artifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: readonly Part[];
  metadata?: Metadata;
  extensions?: readonly string[];
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** Dollars; absent while no price is known. */
  costUsd?: number;
  /** Set when some of it was not counted by an endpoint but estimated. */
  estimated?: true;
}

/** A task as it stands. Never changed in place: each step makes a new one, so a reader may keep what it was given. */
export interface Task {
  id: string;
  contextId: string;
  /** Whose it is, as `ownerKey` says; missing in tasks of before they had owners, which are everybody's. Not on the wire. */
  owner?: string;
  /** The agent of several behind this endpoint that it was given to. Not on the wire. */
  tenant?: string;
  /** Which of several services that share their tasks runs it; missing where it is this one. Not on the wire. */
  runner?: string;
  state: TaskState;
  /** What the agent says about the state: the question, the reason of a failure, a word of progress. */
  statusMessage?: Message;
  /** When the state was entered, in milliseconds. */
  updatedAt: number;
  createdAt: number;
  history: readonly Message[];
  artifacts: readonly Artifact[];
  metadata?: Metadata;
  usage?: Usage;
  /** Time spent working, over all turns. */
  durationMs?: number;
  /** How many calls of tools a policy or a person has denied, over all turns. Not on the wire. */
  deniedCalls?: number;
  /** What the agent waits for, so that the answer can be matched with it. */
  question?: Question;
}

export interface Question {
  text: string;
  /** A JSON schema of the answer, when the agent asked for a form. */
  schema?: unknown;
}

/** The state changed, or the agent reported progress within it. */
export interface StatusEvent {
  type: 'status';
  state: TaskState;
  message?: Message;
  at: number;
  usage?: Usage;
  durationMs?: number;
}

export interface ArtifactEvent {
  type: 'artifact';
  artifact: Artifact;
  /** The parts continue those sent before under the same artifact id. */
  append: boolean;
  lastChunk: boolean;
}

/** The agent answered with a plain message: no task is kept. */
interface MessageEvent {
  type: 'message';
  message: Message;
}

export type TaskEvent = StatusEvent | ArtifactEvent | MessageEvent;

/** An event with its number within the task. */
export interface NumberedEvent {
  readonly sequence: number;
  readonly event: TaskEvent;
}

/** The text of all text parts, a line break between them. */
export function textOf(parts: readonly Part[]): string {
  const texts: string[] = [];
  for (const part of parts) if (part.type === 'text') texts.push(part.text);
  return texts.join('\n');
}

export function hasText(parts: readonly Part[]): boolean {
  return parts.some((part) => part.type === 'text');
}

export function textPart(text: string): Part {
  return { type: 'text', text };
}

/** A message of the agent within a task. */
export function agentMessage(task: { id: string; contextId: string }, parts: readonly Part[]): Message {
  return {
    messageId: crypto.randomUUID(),
    role: 'agent',
    parts,
    taskId: task.id,
    contextId: task.contextId,
  };
}

export function mayFollow(from: TaskState, to: TaskState): boolean {
  return transitions[from].includes(to);
}

export function isTerminal(state: TaskState): boolean {
  return transitions[state].length === 0;
}

/** The task waits for its caller. */
export function isParked(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** The state of a task as the event that led to it. */
export function lastStatus({ state, updatedAt, statusMessage, usage, durationMs }: Task): StatusEvent {
  return {
    type: 'status',
    state,
    at: updatedAt,
    ...(statusMessage && { message: statusMessage }),
    ...(usage && { usage }),
    ...(durationMs !== undefined && { durationMs }),
  };
}

/** The part of a logger that the package uses. */
export interface Logger {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
