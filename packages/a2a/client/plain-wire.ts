import { connectionFailure } from '@trunkline/std';
import { partOfV03, stateOfName } from '../dialects/dialects.ts';
import { readParts } from '../dialects/read/send.ts';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import type { Artifact, Message, Metadata, Part } from '../protocol/model.ts';
import { type Fetch, unreachable } from './agent-fetch.ts';
import {
  type RemoteAgent,
  RemoteAgentError,
  type RemoteReply,
  type RemoteState,
  type ReportedTask,
  replyOfMessage,
  replyOfTask,
  type SentMessage,
} from './remote-agent.ts';

/** One `message/send` in the form that the contracts give, and nothing else. */
export async function sendPlain(
  agent: RemoteAgent,
  message: SentMessage,
  send: Fetch,
  signal: AbortSignal,
): Promise<RemoteReply> {
  const response = await send(agent.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(requestOf(message)),
    signal,
  });
  const answer = await readAnswer(response, agent, signal);
  if (!isObject(answer)) throw new RemoteAgentError('agent_unreadable', agent);
  return readResult(answer, agent);
}

/** Metadata stands in both places where agents look for it. */
function requestOf({ text, taskId, messageId, metadata, push, parts = [], ...message }: SentMessage): object {
  const { contextId, acceptedOutputModes, extensions, referenceTaskIds, ownMetadata } = message;
  return {
    jsonrpc: '2.0',
    id: crypto.randomUUID(),
    method: 'message/send',
    params: {
      contextId,
      message: {
        // The contracts do not name it, 0.3 requires it (section 6.4), and BeeAI fails without.
        kind: 'message',
        messageId,
        role: 'user',
        parts: [{ kind: 'text', text }, ...parts.map(partOfV03)],
        taskId,
        contextId,
        metadata: withOwn(metadata, ownMetadata),
        extensions,
        referenceTaskIds,
      },
      metadata,
      configuration: (push || acceptedOutputModes) && {
        blocking: true,
        pushNotificationConfig: push,
        acceptedOutputModes,
      },
    },
  };
}

/** Undefined where there is none. */
export function withOwn(metadata: Metadata | undefined, own: Metadata | undefined): Metadata | undefined {
  return own === undefined ? metadata : { ...metadata, ...own };
}

/** The result of the JSON-RPC answer; an HTTP error may carry one too. */
async function readAnswer(response: Response, agent: RemoteAgent, signal: AbortSignal): Promise<unknown> {
  const text = await response.text().catch((cause: unknown) => {
    signal.throwIfAborted();
    throw unreachable(agent, cause, connectionFailure('ECONNRESET'));
  });
  const body = parse(text);
  const error = isObject(body) && isObject(body.error) ? body.error : undefined;
  if (error !== undefined) {
    const Failure = otherEndpoint.has(Number(error.code)) ? NotSpokenError : RemoteAgentError;
    throw new Failure('agent_error', agent, String(error.message ?? ''));
  }
  if (!response.ok) {
    const Failure = otherEndpoint.has(response.status) ? NotSpokenError : RemoteAgentError;
    throw new Failure('agent_error', agent, `HTTP status ${response.status}`);
  }
  if (!isObject(body) || body.result === undefined) throw new OtherContentError('agent_unreadable', agent);
  return body.result;
}

/** No 0.3 is spoken at this address. Nothing has been done there, and the agent's card may name another. */
export class NotSpokenError extends RemoteAgentError {}

/** A page or a card, perhaps, that takes anything; or somebody who did the work and answered in no form that we know. */
export class OtherContentError extends NotSpokenError {}

/**
 * Of HTTP: bad request, not found, method not allowed (of a card, for instance), unsupported media type, unprocessable, not
 * implemented. Of A2A: version not supported, and method not found, as those say who know 1.0 alone.
 */
const otherEndpoint = new Set([400, 404, 405, 415, 422, 501, -32009, -32601]);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** 0.3's task or message, or 1.0's wrapped in their names. */
function readResult(result: JsonObject, agent: RemoteAgent): RemoteReply {
  try {
    if (result.kind === 'message') return readReply(result);
    if (isObject(result.message)) return readReply(result.message);
    return replyOfTask(readTask(isObject(result.task) ? result.task : result));
  } catch (cause) {
    throw new RemoteAgentError('agent_unreadable', agent, '', { cause });
  }
}

/** A plain message instead of a task. */
export function readReply(message: JsonObject): RemoteReply {
  return replyOfMessage(partsOf(message.parts), optionalText(message.contextId));
}

/** A task in the JSON of either version. */
export function readTask(task: JsonObject): ReportedTask {
  const { state, message } = readStatus(task.status);
  const artifacts = Array.isArray(task.artifacts) ? task.artifacts.filter(isObject) : [];
  return {
    id: optionalText(task.id) ?? '',
    contextId: optionalText(task.contextId) ?? '',
    state,
    artifacts: artifacts.map(readArtifact),
    statusMessage: message,
  };
}

export function readStatus(given: unknown): { state: RemoteState; message: Message | undefined } {
  const { state, message } = isObject(given) ? given : {};
  return {
    state: (typeof state === 'string' ? stateOfName(state) : undefined) ?? 'unknown',
    message: isObject(message) ? readMessage(message) : undefined,
  };
}

export function readArtifact(artifact: JsonObject): Artifact {
  const name = optionalText(artifact.name);
  const artifactId = optionalText(artifact.artifactId) ?? '';
  return { artifactId, ...(name !== undefined && { name }), parts: partsOf(artifact.parts) };
}

function readMessage(message: JsonObject): Message {
  return {
    messageId: optionalText(message.messageId) ?? '',
    role: 'agent',
    parts: partsOf(message.parts),
  };
}

function partsOf(parts: unknown): Part[] {
  return Array.isArray(parts) && parts.length > 0 ? readParts(parts).parts : [];
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
