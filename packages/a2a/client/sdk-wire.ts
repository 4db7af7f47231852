import {
  Artifact as ArtifactCodec,
  ListTasksRequest,
  type ListTasksResponse,
  Message as MessageCodec,
  type Message as SdkMessage,
  type Task as SdkTask,
  SendMessageRequest,
  TaskStatus as StatusCodec,
  type StreamResponse,
  Task as TaskCodec,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { partOfV10, stateNames } from '../dialects/dialects.ts';
import type { JsonObject } from '../dialects/read/values.ts';
import { type Artifact, type Message, textOf } from '../protocol/model.ts';
import { type Fetch, refusingStreams, withPlaces, withStandIn } from './agent-fetch.ts';
import { type Interface, type PlacedCard, standInFor } from './card-places.ts';
import { isAppended, markAppends } from './kept-append.ts';
import { readArtifact, readReply, readStatus, readTask, withOwn } from './plain-wire.ts';
import {
  type PushConfig,
  type PushTarget,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteEvent,
  type RemoteReply,
  type RemoteState,
  type ReportedTask,
  replyOfTask,
  type SentMessage,
  type TaskList,
  type TaskQuery,
} from './remote-agent.ts';

/** How this agent is reached: over HTTP by `send`, over gRPC with the headers in its metadata. */
export interface Way {
  send: Fetch;
  headers: () => Record<string, string>;
}

export interface Connection {
  client: Client;
  close(): void;
}

/** A client of the official SDK for this agent, in the best version and transport that its card offers. */
export async function connect(agent: RemoteAgent, card: PlacedCard, way: Way): Promise<Connection> {
  const chosen = chooseInterface(agent, card);
  if (chosen === undefined) throw new RemoteAgentError('agent_error', agent, noWay);
  const standIn = standInFor({ ...agent, isCard: card.isCard ?? false }, chosen);
  const reach = standIn === undefined ? way.send : withStandIn(way.send, chosen.url, standIn);
  const { places, unbelieved } = chosen;
  const send = places === undefined ? reach : withPlaces(reach, places, { agent, unbelieved });
  const options = { fetchImpl: send, legacyCompat: { enabled: true } };
  const isOlder = chosen.protocolVersion.startsWith('0.');
  const overRest = refusingStreams(send);
  const rest = { ...options, fetchImpl: isOlder ? markAppends(overRest) : overRest };
  const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(rest)];
  // The library is loaded only where the agent prefers gRPC or has nothing else.
  const isGrpc = bindingOf(chosen) === 'GRPC';
  const grpc = isGrpc ? new (await import('./grpc-wire.ts')).GrpcWire(agent, way.headers) : undefined;
  try {
    const factory = new ClientFactory({
      transports: grpc === undefined ? transports : [...transports, grpc],
    });
    const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: [chosen] });
    return { client, close: () => grpc?.close() };
  } catch (cause) {
    throw new RemoteAgentError('agent_error', agent, noWay, { cause });
  }
}

const noWay = 'it offers no way that we know to talk to it';

const bindingOf = ({ protocolBinding }: Interface) => protocolBinding.toUpperCase();

/** By major and minor number alone: the newest version first, then what the card names first. Versions that nobody knows come last. */
const versions: readonly { pattern: RegExp; version?: string }[] = [
  { pattern: /^v?1(\.0\b|$)/, version: '1.0' },
  { pattern: /^v?0\.|^$/, version: '0.3' },
  { pattern: /./ },
];

function chooseInterface({ credentials }: RemoteAgent, card: PlacedCard): Interface | undefined {
  // A signature covers the body of an HTTP request; gRPC has no place for it.
  const bindings = ['JSONRPC', 'HTTP+JSON', ...(credentials?.hmacSecret === undefined ? ['GRPC'] : [])];
  const spoken = card.supportedInterfaces.filter((entry) => bindings.includes(bindingOf(entry)));
  for (const { pattern, version } of versions) {
    const chosen = spoken.find(({ protocolVersion }) => pattern.test(protocolVersion.trim()));
    if (chosen !== undefined) return { ...chosen, protocolVersion: version ?? chosen.protocolVersion };
  }
  return undefined;
}

/** Turns the frames of a stream into our events, the last of them with the whole reply. */
export async function* readStream(
  frames: AsyncIterable<StreamResponse>,
  agent: RemoteAgent,
): AsyncGenerator<RemoteEvent, void, undefined> {
  const task = new GrowingTask();
  for await (const { payload } of frames) {
    switch (payload?.$case) {
      case 'message':
        yield { type: 'task-end', reply: fromResult(payload.value) };
        return;
      case 'task':
        task.replace(reportedTask(payload.value));
        yield { type: 'task-start', taskId: payload.value.id, contextId: payload.value.contextId };
        break;
      case 'statusUpdate': {
        const { status } = payload.value;
        const { state, message } = readStatus(status && StatusCodec.toJSON(status));
        task.enter(state, message);
        yield { type: 'status', state, text: message === undefined ? '' : textOf(message.parts) };
        break;
      }
      case 'artifactUpdate': {
        const { artifact } = payload.value;
        const append = isAppended(payload.value);
        if (artifact) yield* task.add(readArtifact(ArtifactCodec.toJSON(artifact) as JsonObject), append);
        break;
      }
      default:
        break;
    }
  }
  const reply = task.reply();
  if (reply.state === 'working' || reply.state === 'submitted' || reply.state === 'unknown')
    throw new RemoteAgentError('agent_error', agent, 'its stream ended before the task did');
  yield { type: 'task-end', reply };
}

/** The task as the frames so far tell it. */
class GrowingTask {
  #task: ReportedTask = { id: '', contextId: '', state: 'unknown', artifacts: [], statusMessage: undefined };
  readonly #artifacts = new Map<string, Artifact>();

  /** A frame may hold the whole task, what it says about its state included. */
  replace(task: ReportedTask): void {
    this.#task = task;
    for (const artifact of task.artifacts) this.#artifacts.set(artifact.artifactId, artifact);
  }

  enter(state: RemoteState, statusMessage: Message | undefined): void {
    this.#task = { ...this.#task, state, statusMessage };
  }

  /** New text of the answer is told as it comes; everything else as an artifact. */
  *add(artifact: Artifact, append: boolean): Generator<RemoteEvent> {
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
    return replyOfTask({ ...this.#task, artifacts: [...this.#artifacts.values()] });
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

export function toRequest(message: SentMessage): SendMessageRequest {
  const { text, contextId, taskId, messageId, metadata, ownMetadata, push } = message;
  const { extensions, referenceTaskIds, acceptedOutputModes, parts: more = [] } = message;
  const parts = [{ text, mediaType: 'text/plain' }, ...more.map(partOfV10)];
  return SendMessageRequest.fromJSON({
    message: {
      messageId,
      contextId,
      taskId,
      role: 'ROLE_USER',
      parts,
      metadata: withOwn(metadata, ownMetadata),
      extensions,
      referenceTaskIds,
    },
    configuration: (push || acceptedOutputModes) && { taskPushNotificationConfig: push, acceptedOutputModes },
    metadata,
  });
}

export function toListRequest({ state, ...query }: TaskQuery): ListTasksRequest {
  return ListTasksRequest.fromJSON({ ...query, ...(state && { status: stateNames[state] }) });
}

export function fromPage({ tasks, totalSize, nextPageToken }: ListTasksResponse): TaskList {
  return { tasks: tasks.map(fromTask), totalSize, nextPageToken };
}

export function toPushConfig(taskId: string, push: PushTarget): TaskPushNotificationConfig {
  return TaskPushNotificationConfig.fromJSON({ taskId, ...push });
}

export function fromPushConfig({ id, taskId, url }: TaskPushNotificationConfig): PushConfig {
  return { id, taskId, url };
}

export function fromResult(result: SdkTask | SdkMessage): RemoteReply {
  return 'messageId' in result ? readReply(MessageCodec.toJSON(result) as JsonObject) : fromTask(result);
}

export function fromTask(task: SdkTask): RemoteReply {
  return replyOfTask(reportedTask(task));
}

function reportedTask(task: SdkTask): ReportedTask {
  return readTask(TaskCodec.toJSON(task) as JsonObject);
}
