import { randomUUID } from 'node:crypto';
import { readSse } from '@trunkline/http';
import { type ChatEvent, eventsOf, type Frame } from './events.ts';

export interface AgentAddress {
  url: string;
  token: string | undefined;
}

/** A failure in words for the person at the terminal. */
export class ChatError extends Error {
  readonly code = 'CHAT_FAILED';
}

/** One conversation with an agent service over A2A: knows its context, and the task that waits for an answer. */
export class AgentClient {
  readonly #address: AgentAddress;
  readonly #contextId = randomUUID();
  #taskId: string | undefined;
  #waiting = false;

  constructor(address: AgentAddress) {
    this.#address = address;
  }

  /** Whether the agent asked something that the next message answers. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /** Sends a message and gives what the agent says and does until its turn ends. */
  async *send(text: string): AsyncGenerator<ChatEvent> {
    const answered = this.#waiting ? this.#taskId : undefined;
    this.#taskId = answered;
    this.#waiting = false;
    const message = {
      role: 'user',
      messageId: randomUUID(),
      contextId: this.#contextId,
      ...(answered !== undefined && { taskId: answered }),
      parts: [{ kind: 'text', text }],
    };
    const response = await this.#call('message/stream', { message });
    for await (const { data } of readSse(response)) {
      for (const event of this.#read(data)) yield event;
    }
  }

  /** Stops the task that is running, if there is one. */
  async cancel(): Promise<void> {
    if (this.#taskId === undefined) return;
    const response = await this.#call('tasks/cancel', { id: this.#taskId });
    await response.body?.cancel();
  }

  #read(data: string): ChatEvent[] {
    const { result, error } = JSON.parse(data) as { result?: Frame; error?: { message?: string } };
    if (error) throw new ChatError(`The agent refused the message: ${error.message ?? 'no reason given'}`);
    const frame = result ?? {};
    this.#taskId = frame.taskId ?? (frame.kind === 'task' ? frame.id : this.#taskId);
    const events = eventsOf(frame);
    this.#waiting = events.some(({ type }) => type === 'question');
    return events;
  }

  async #call(method: string, params: object): Promise<Response> {
    const { url, token } = this.#address;
    const headers = {
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method, params });
    const response = await fetch(new URL('/a2a', url), { method: 'POST', headers, body }).catch(
      (cause: unknown) => {
        const words = `No agent service answers at ${url}. Start one with "npm start", or set AGENT_URL to where it runs.`;
        throw new ChatError(words, { cause });
      },
    );
    if (response.status === 401)
      throw new ChatError('The agent wants a token: set A2A_AUTH_TOKEN to the one it was started with.');
    if (!response.ok) throw new ChatError(`The agent answered ${response.status} ${response.statusText}.`);
    return response;
  }
}
