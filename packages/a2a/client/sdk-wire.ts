import {
  type AgentCard,
  Role,
  type Artifact as SdkArtifact,
  type Message as SdkMessage,
  type Part as SdkPart,
  TaskState as SdkState,
  type Task as SdkTask,
  type SendMessageRequest,
  type StreamResponse,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { type Artifact, type Message, type Part, textOf } from '../protocol/model.ts';
import type { Fetch } from './agent-fetch.ts';
import {
  answerOf,
  type OutgoingMessage,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteEvent,
  type RemoteReply,
  type RemoteState,
  replyOfMessage,
  replyOfTask,
} from './remote-agent.ts';

const states: Partial<Record<SdkState, RemoteState>> = {
  [SdkState.TASK_STATE_SUBMITTED]: 'submitted',
  [SdkState.TASK_STATE_WORKING]: 'working',
  [SdkState.TASK_STATE_COMPLETED]: 'completed',
  [SdkState.TASK_STATE_FAILED]: 'failed',
  [SdkState.TASK_STATE_CANCELED]: 'canceled',
  [SdkState.TASK_STATE_INPUT_REQUIRED]: 'input-required',
  [SdkState.TASK_STATE_REJECTED]: 'rejected',
  [SdkState.TASK_STATE_AUTH_REQUIRED]: 'auth-required',
};

/** A client of the official SDK for this agent, in the best version and transport that its card offers. */
export async function sdkClient(agent: RemoteAgent, card: AgentCard, send: Fetch): Promise<Client> {
  const options = { fetchImpl: send, legacyCompat: { enabled: true } };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
  });
  try {
    return await factory.createFromAgentCard(card);
  } catch (cause) {
    throw new RemoteAgentError('agent_error', agent, 'it offers no way that we know to talk to it', {
      cause,
    });
  }
}

/** Turns the frames of a stream into our events, the last of them with the whole reply. */
export async function* readStream(
  frames: AsyncIterable<StreamResponse>,
): AsyncGenerator<RemoteEvent, void, undefined> {
  const task = new GrowingTask();
  for await (const { payload } of frames) {
    switch (payload?.$case) {
      case 'message':
        yield { type: 'task-end', reply: fromResult(payload.value) };
        return;
      case 'task':
        task.replace(fromTask(payload.value));
        yield { type: 'task-start', taskId: payload.value.id, contextId: payload.value.contextId };
        break;
      case 'statusUpdate': {
        const { status } = payload.value;
        const message = status?.message && fromMessage(status.message);
        task.enter(fromState(status?.state), message);
        yield { type: 'status', state: task.state, text: message === undefined ? '' : textOf(message.parts) };
        break;
      }
      case 'artifactUpdate':
        yield* task.add(payload.value.artifact && fromArtifact(payload.value.artifact), payload.value.append);
        break;
      default:
        break;
    }
  }
  yield { type: 'task-end', reply: task.reply() };
}

/** The task as the frames so far tell it. */
class GrowingTask {
  #reply: RemoteReply = { state: 'unknown', text: '', statusText: '', artifacts: [] };
  #message: Parameters<typeof replyOfTask>[0]['statusMessage'];
  readonly #artifacts = new Map<string, Artifact>();

  get state() {
    return this.#reply.state;
  }

  replace(reply: RemoteReply): void {
    this.#reply = reply;
    for (const artifact of reply.artifacts) this.#artifacts.set(artifact.artifactId, artifact);
  }

  enter(state: RemoteReply['state'], message: Parameters<typeof replyOfTask>[0]['statusMessage']): void {
    this.#reply = { ...this.#reply, state };
    this.#message = message;
  }

  /** New text of the answer is told as it comes; everything else as an artifact. */
  *add(artifact: Artifact | undefined, append: boolean): Generator<RemoteEvent> {
    if (artifact === undefined) return;
    const before = this.#artifacts.get(artifact.artifactId);
    this.#artifacts.set(artifact.artifactId, merge(before, artifact, append));
    const text = textOf(artifact.parts);
    if (artifact.parts.every((part) => part.type === 'text')) {
      if (text !== '') yield { type: 'text-delta', text };
    } else {
      yield { type: 'artifact', artifact };
    }
  }

  reply(): RemoteReply {
    const { taskId = '', contextId = '', state } = this.#reply;
    const artifacts = [...this.#artifacts.values()].filter((artifact) => answerOf([artifact]) !== undefined);
    return replyOfTask({ id: taskId, contextId, state, artifacts, statusMessage: this.#message });
  }
}

/** Text that continues becomes one part again. */
function merge(before: Artifact | undefined, more: Artifact, append: boolean): Artifact {
  if (before === undefined || !append) return more;
  const [last, next] = [before.parts.at(-1), more.parts[0]];
  if (last?.type !== 'text' || next?.type !== 'text')
    return { ...before, parts: [...before.parts, ...more.parts] };
  const joined = { ...last, text: last.text + next.text };
  return { ...before, parts: [...before.parts.slice(0, -1), joined, ...more.parts.slice(1)] };
}

/** Between the SDK's objects and ours. */

export function toRequest(message: OutgoingMessage): SendMessageRequest {
  const { text, contextId = '', taskId = '', messageId, metadata } = message;
  return {
    tenant: '',
    message: {
      messageId: messageId ?? crypto.randomUUID(),
      contextId,
      taskId,
      role: Role.ROLE_USER,
      parts: [
        {
          content: { $case: 'text', value: text },
          metadata: undefined,
          filename: '',
          mediaType: 'text/plain',
        },
      ],
      metadata,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: configurationOf(message),
    metadata,
  };
}

function configurationOf({ push }: OutgoingMessage): SendMessageRequest['configuration'] {
  if (push === undefined) return undefined;
  const place = { tenant: '', id: '', taskId: '', authentication: undefined };
  return {
    acceptedOutputModes: [],
    taskPushNotificationConfig: { ...place, ...push },
    returnImmediately: false,
  };
}

export function fromResult(result: SdkTask | SdkMessage): RemoteReply {
  if ('messageId' in result) return replyOfMessage(result.parts.map(fromPart), result.contextId || undefined);
  return fromTask(result);
}

export function fromTask(task: SdkTask): RemoteReply {
  return replyOfTask({
    id: task.id,
    contextId: task.contextId,
    state: fromState(task.status?.state),
    artifacts: task.artifacts.map(fromArtifact),
    statusMessage: task.status?.message && fromMessage(task.status.message),
  });
}

function fromArtifact({ artifactId, name, parts }: SdkArtifact): Artifact {
  return { artifactId, ...(name !== '' && { name }), parts: parts.map(fromPart) };
}

function fromMessage({ messageId, parts }: SdkMessage): Message {
  return { messageId, role: 'agent', parts: parts.map(fromPart) };
}

function fromState(state: SdkState | undefined): RemoteState {
  return (state === undefined ? undefined : states[state]) ?? 'unknown';
}

function fromPart({ content, metadata, filename, mediaType }: SdkPart): Part {
  const extra = metadata === undefined ? {} : { metadata };
  switch (content?.$case) {
    case 'text':
      return { type: 'text', text: content.value, ...extra };
    case 'data':
      return { type: 'data', data: content.value, ...extra };
    case 'url':
      return { type: 'file', uri: content.value, name: filename, mediaType, ...extra };
    case 'raw':
      return {
        type: 'file',
        bytes: Buffer.from(content.value).toString('base64'),
        name: filename,
        mediaType,
        ...extra,
      };
    default:
      return { type: 'text', text: '' };
  }
}
