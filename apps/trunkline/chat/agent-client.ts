import { randomUUID } from 'node:crypto';
import {
  type Artifact,
  createA2aClient,
  type RemoteAgent,
  type RemoteAgentError,
  type RemoteEvent,
  toolCallMediaType,
} from '@trunkline/a2a';

/** What a turn of the agent shows in the terminal. */
export type ChatEvent =
  | { type: 'text'; text: string }
  | { type: 'tool'; name: string; phase: 'started' | 'completed' | 'failed'; detail: string }
  | { type: 'question'; text: string }
  | { type: 'end'; state: string; text: string };

const SILENCE_LIMIT_MS = 600_000;
const LONGEST_DETAIL = 100;

/** One conversation with an agent service over A2A: knows its context, and the task that waits for an answer. */
export class AgentClient {
  readonly #client = createA2aClient();
  readonly #agent: RemoteAgent;
  readonly #joins: { joins: true } | undefined;
  /** The id of the chat, also on the page. */
  readonly contextId: string;
  #taskId: string | undefined;
  #waiting = false;

  /** `operatorHeaders`: who is at the terminal, where the agent may know it. `chat`: the one to continue, if any. */
  constructor(
    url: string,
    token: string | undefined,
    operatorHeaders: Record<string, string> = {},
    chat?: string,
  ) {
    this.contextId = chat ?? randomUUID();
    this.#joins = chat === undefined ? undefined : { joins: true };
    const credentials = token === undefined ? {} : { credentials: { bearer: token } };
    this.#agent = {
      name: `at ${url}`,
      url: new URL('/a2a', url).href,
      headers: operatorHeaders,
      ...credentials,
    };
  }

  /** Whether the agent asked something that the next message answers. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /** Sends a message and gives what the agent says and does until its turn ends. */
  async *send(text: string): AsyncGenerator<ChatEvent> {
    const answered = this.#waiting && this.#taskId !== undefined ? { taskId: this.#taskId } : {};
    this.#waiting = false;
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const metadata = { channel: 'terminal', timezone, ...this.#joins };
    const message = { text, contextId: this.contextId, metadata, ...answered };
    for await (const event of this.#client.stream(this.#agent, message, { timeoutMs: SILENCE_LIMIT_MS })) {
      yield* this.#read(event);
    }
  }

  /** Stops the task that is running, if there is one. */
  async cancel(): Promise<void> {
    if (this.#taskId !== undefined) await this.#client.cancel(this.#agent, this.#taskId);
  }

  #read(event: RemoteEvent): ChatEvent[] {
    if (event.type === 'task-start') this.#taskId = event.taskId;
    if (event.type === 'text-delta') return [{ type: 'text', text: event.text }];
    if (event.type === 'artifact') return toolEvents(event.artifact);
    if (event.type !== 'task-end') return [];
    const { state, statusText: text } = event.reply;
    this.#waiting = state === 'input-required';
    return [this.#waiting ? { type: 'question', text } : { type: 'end', state, text }];
  }
}

/** What to do about a call that failed, for the person at the terminal. */
export function adviceFor(error: RemoteAgentError): string {
  if (error.code === 'agent_unreachable')
    return 'Start it with "npm start", or set AGENT_URL to where it runs.';
  if (error.code === 'agent_unauthorized') return 'Set A2A_AUTH_TOKEN to the token it was started with.';
  return 'The log of the agent service has more.';
}

function toolEvents({ parts }: Artifact): ChatEvent[] {
  return parts.flatMap((part) => {
    if (part.type !== 'data' || part.metadata?.mimeType !== toolCallMediaType) return [];
    const { name, phase, args, result } = part.data as Record<string, unknown>;
    if (phase !== 'started' && phase !== 'completed' && phase !== 'failed') return [];
    return [
      { type: 'tool', name: String(name), phase, detail: oneLine(phase === 'started' ? args : result) },
    ];
  });
}

function oneLine(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > LONGEST_DETAIL ? `${flat.slice(0, LONGEST_DETAIL - 1)}…` : flat;
}
