import type {
  Artifact,
  ArtifactEvent,
  Message,
  Part,
  StatusEvent,
  Task,
  Usage,
} from '../../protocol/model.ts';
import type { PushConfig } from '../../push/push-store.ts';
import { type Dialect, recentHistory, type TaskPlace, type TaskView, timestamp } from '../dialect.ts';
import { roleName, stateName } from './names.ts';

/** The forms of 1.0: protocol buffers as JSON, in which empty lists are left out. */

function encodeTask(task: Task, view: TaskView = {}): object {
  const history = recentHistory(task, view);
  return {
    id: task.id,
    contextId: task.contextId,
    status: encodeStatus(task.state, task.updatedAt, task.statusMessage),
    artifacts: encodeArtifacts(task, view),
    history: history.length === 0 ? undefined : history.map(encodeMessage),
    metadata: withSpent(task.metadata, task),
  };
}

function encodeStatusEvent(task: TaskPlace, event: StatusEvent): object {
  return {
    taskId: task.id,
    contextId: task.contextId,
    status: encodeStatus(event.state, event.at, event.message),
    metadata: withSpent(undefined, event),
  };
}

function encodeArtifactEvent(task: TaskPlace, event: ArtifactEvent): object {
  return {
    taskId: task.id,
    contextId: task.contextId,
    artifact: encodeArtifact(event.artifact),
    append: event.append,
    lastChunk: event.lastChunk,
  };
}

function encodeMessage(message: Message): object {
  return {
    messageId: message.messageId,
    role: roleName(message.role),
    parts: message.parts.map(encodePart),
    taskId: message.taskId,
    contextId: message.contextId,
    metadata: message.metadata,
  };
}

/** Asked for by name, the list is there even when it is empty. */
function encodeArtifacts(task: Task, view: TaskView): object[] | undefined {
  if (view.artifacts === false) return undefined;
  if (view.artifacts === undefined && task.artifacts.length === 0) return undefined;
  return task.artifacts.map(encodeArtifact);
}

function encodeArtifact(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

function encodeStatus(state: Task['state'], at: number, message: Message | undefined): object {
  return { state: stateName(state), timestamp: timestamp(at), message: message && encodeMessage(message) };
}

/** What a turn cost has no field of its own here. */
function withSpent(
  metadata: Task['metadata'],
  { usage, durationMs }: { usage?: Usage; durationMs?: number },
): object | undefined {
  return durationMs === undefined ? metadata : { ...metadata, ...(usage && { usage }), durationMs };
}

function encodePart(part: Part): object {
  switch (part.type) {
    case 'text':
      return { text: part.text, metadata: part.metadata };
    case 'data':
      return { data: part.data, metadata: part.metadata };
    case 'file': {
      const { bytes, uri, name, mediaType, metadata } = part;
      return { raw: bytes, url: uri, filename: name, mediaType, metadata };
    }
  }
}

/** 1.0, the same over JSON-RPC and REST. */
export const v10: Dialect = {
  name: 'v10',
  version: '1.0',
  strict: true,
  protobuf: false,
  contentType: 'application/a2a+json',
  task: encodeTask,
  taskResult: (task, view) => ({ task: encodeTask(task, view) }),
  messageResult: (message) => ({ message: encodeMessage(message) }),
  taskFrame: (task) => ({ task: encodeTask(task) }),
  eventFrame(task, event) {
    if (event.type === 'status') return { statusUpdate: encodeStatusEvent(task, event) };
    if (event.type === 'artifact') return { artifactUpdate: encodeArtifactEvent(task, event) };
    return { message: encodeMessage(event.message) };
  },
  page: (page, view) => ({
    ...page,
    tasks: page.tasks.map((task) => encodeTask(task, { artifacts: false, ...view })),
  }),
  pushConfig: encodePushConfig,
  pushConfigs: (configs) => ({ configs: configs.map(encodePushConfig), nextPageToken: '' }),
  deleted: {},
  /** A finished task goes out whole, as an update has no place for the answer. */
  pushBody: (task, event) =>
    event.type === 'status' && event.state === 'completed'
      ? { task: encodeTask(task, { historyLength: 0 }) }
      : v10.eventFrame(task, event),
};

/** The token stays here. */
function encodePushConfig({ id, taskId, url }: PushConfig): object {
  return { id, taskId, url };
}
