import type { Message } from '@trunkline/bus';
import { filesOf } from '../content/references.ts';
import { principalOf } from '../core/messages.ts';
import type { Retry, SkillRequest } from './executor.ts';

interface RepositoryItem {
  owner: string;
  repo: string;
  number?: number;
  sha?: string;
}

/** A parsed message of `agent.skill.request`. */
export interface Dispatch extends SkillRequest {
  message: Message;
  repo?: RepositoryItem;
  /** Arrival of the webhook, in milliseconds since 1970. */
  arrivedAt?: number;
  /** Publish progress and tool frames. */
  stream: boolean;
  /** The actor in `autonomous.outcome`. */
  actor: string;
  /** Why the router chose this skill. */
  routing?: unknown;
}

/** A field of the wrong type counts as missing. */
export function readDispatch(message: Message): Dispatch {
  const payload = fieldsOf(message.payload);
  const agent = text(payload.agent) ?? text(Array.isArray(payload.targets) ? payload.targets[0] : undefined);
  const repo = readRepository(payload.repo);
  const arrivedAt = number(payload.arrivedAt);
  const conversationId = text(payload.conversationId);
  const files = filesOf(payload);
  const retries = retriesOf(payload);
  return {
    message,
    requestId: message.id,
    ...(conversationId !== undefined && { conversationId }),
    skill: text(payload.skillHint) ?? text(payload.skill) ?? '',
    ...(agent !== undefined && { agent }),
    content: text(payload.content) ?? JSON.stringify(message.payload),
    ...(files.length > 0 && { files }),
    ...(retries.length > 0 && { retries }),
    correlationId: message.correlationId,
    depth: 0,
    principal: principalOf(message),
    ...(repo && { repo }),
    ...(arrivedAt !== undefined && { arrivedAt }),
    stream: payload.stream === true,
    actor: text(payload.systemActor) ?? message.source?.interface ?? 'switchboard',
    routing: payload.routing,
  };
}

/** No process can have been killed and followed by another since a message of this age was published. */
const freshMs = 500;

/** The first delivery after a crash does not count as another attempt, so that age alone tells it from a first one. */
export function isFresh({ timestamp }: Message): boolean {
  const age = Date.now() - timestamp;
  return age >= 0 && age < freshMs;
}

/** Each is read from the store. */
const mostRetries = 100;

/** How often a request was retried from a step: `retries` of its payload. */
export function retriesOf({ retries }: Record<string, unknown>): Retry[] {
  return (Array.isArray(retries) ? retries.slice(0, mostRetries) : []).flatMap((retry) => {
    const { requestId, toolCallId } = fieldsOf(retry);
    const [request, call] = [text(requestId), text(toolCallId)];
    return request === undefined || call === undefined ? [] : { requestId: request, toolCallId: call };
  });
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

export function withoutUndefined<T extends object>(value: T): Defined<T> {
  const defined: Partial<T> = {};
  for (const key of Object.keys(value) as (keyof T)[])
    if (value[key] !== undefined) defined[key] = value[key];
  return defined as Defined<T>;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function readRepository(value: unknown): RepositoryItem | undefined {
  const fields = fieldsOf(value);
  const [owner, repo] = [text(fields.owner), text(fields.repo)];
  if (owner === undefined || repo === undefined) return undefined;
  const [count, sha] = [number(fields.number), text(fields.sha)];
  return { owner, repo, ...(count !== undefined && { number: count }), ...(sha !== undefined && { sha }) };
}
