import { randomUUID } from 'node:crypto';
import { createGuardedFetch, type GuardedFetch, type GuardedResponse, HttpError } from '@trunkline/http';
import { type A2aReply, readReply } from './a2a-reply.ts';
import { type Delegate, type DelegateContext, DelegateError } from './delegate.ts';

export interface A2aDelegateOptions {
  name: string;
  description: string;
  /** Base address of the agent; `/a2a` is added unless it is there. */
  url: string;
  /** Sent as a bearer. */
  token?: string | undefined;
  /** The agent's skill that is to be used. */
  skill?: string | undefined;
}

/** A task of the other agent that waits for an answer from this conversation. */
interface Parked {
  taskId: string;
  contextId: string | undefined;
}

const MOST_PARKED = 1000;

/** An agent that speaks A2A. When it asks back, the next query of the same conversation is the answer. */
export function createA2aDelegate(options: A2aDelegateOptions): Delegate {
  const { name, description } = options;
  const address = endpointOf(options.url);
  const fetch = createGuardedFetch({
    allowedHosts: [address.hostname],
    timeoutMs: 3_600_000,
    maxRedirects: 0,
  });
  const parked = new Map<string, Parked>();
  return {
    name,
    description,
    async ask(query, context) {
      const body = envelope(query, options.skill, parked.get(context.sessionId));
      parked.delete(context.sessionId);
      const reply = readReply(name, await send(fetch, address, { options, body, context }));
      if (reply.parked !== undefined) remember(parked, context.sessionId, reply.parked);
      return textOf(name, reply);
    },
  };
}

function endpointOf(url: string): URL {
  const address = new URL(url);
  if (!/\/a2a\/?$/.test(address.pathname)) address.pathname = `${address.pathname.replace(/\/+$/, '')}/a2a`;
  return address;
}

function envelope(query: string, skill: string | undefined, parked: Parked | undefined): object {
  const message = {
    kind: 'message',
    role: 'user',
    messageId: randomUUID(),
    parts: [{ kind: 'text', text: query }],
    ...(parked === undefined ? {} : { taskId: parked.taskId, contextId: parked.contextId }),
  };
  const metadata = skill === undefined || skill === '' ? {} : { metadata: { skill } };
  return { jsonrpc: '2.0', id: randomUUID(), method: 'message/send', params: { message, ...metadata } };
}

interface Sending {
  options: A2aDelegateOptions;
  body: object;
  context: DelegateContext;
}

async function send(
  fetch: GuardedFetch,
  address: URL,
  { options, body, context }: Sending,
): Promise<GuardedResponse> {
  const { name, token } = options;
  try {
    return await fetch(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal: context.signal,
    });
  } catch (error) {
    if (context.signal.aborted || !(error instanceof HttpError)) throw error;
    throw new DelegateError('delegate_unreachable', `${name} cannot be reached right now.`, { cause: error });
  }
}

function remember(parked: Map<string, Parked>, sessionId: string, task: Parked): void {
  parked.set(sessionId, task);
  for (const oldest of parked.keys()) if (parked.size > MOST_PARKED) parked.delete(oldest);
}

function textOf(name: string, reply: A2aReply): string {
  return reply.parked === undefined ? reply.text : `${name} asks back: ${reply.text}`;
}
