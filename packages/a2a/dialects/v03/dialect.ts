import type {
  Artifact,
  ArtifactEvent,
  Message,
  Part,
  StatusEvent,
  Task,
  TaskEvent,
  Usage,
} from '../../protocol/model.ts';
import type { PushConfig } from '../../push/push-store.ts';
import { type Dialect, recentHistory, type TaskPlace, type TaskView, timestamp } from '../dialect.ts';
import { isObject } from '../read/values.ts';

/** The forms of 0.3: `kind` on everything, states and roles as plain words. */

function encodeTask(task: Task, view: TaskView = {}): object {
  const data = encodeSpent(task);
  return {
    kind: 'task',
    id: task.id,
    contextId: task.contextId,
    status: encodeStatus(task.state, task.updatedAt, task.statusMessage),
    artifacts: view.artifacts === false ? undefined : task.artifacts.map(encodeArtifact),
    history: recentHistory(task, view).map(encodeMessage),
    metadata: task.metadata,
    data,
  };
}

function encodeStatusEvent(task: TaskPlace, event: StatusEvent): object {
  return {
    kind: 'status-update',
    taskId: task.id,
    contextId: task.contextId,
    status: encodeStatus(event.state, event.at, event.message),
    final: event.state !== 'working',
    metadata: encodeSpent(event),
  };
}

function encodeArtifactEvent(task: TaskPlace, event: ArtifactEvent): object {
  return {
    kind: 'artifact-update',
    taskId: task.id,
    contextId: task.contextId,
    artifact: encodeArtifact(event.artifact),
    append: event.append,
    lastChunk: event.lastChunk,
  };
}

function encodeMessage(message: Message): object {
  return {
    kind: 'message',
    messageId: message.messageId,
    role: message.role,
    parts: message.parts.map(encodePart),
    taskId: message.taskId,
    contextId: message.contextId,
    metadata: message.metadata,
  };
}

function encodeArtifact(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

function encodeStatus(state: string, at: number, message: Message | undefined): object {
  return { state, timestamp: timestamp(at), message: message && encodeMessage(message) };
}

/** What a turn cost, once it is known. */
function encodeSpent({ usage, durationMs }: { usage?: Usage; durationMs?: number }): object | undefined {
  if (durationMs === undefined) return undefined;
  return {
    usage: {
      input_tokens: usage?.inputTokens ?? 0,
      output_tokens: usage?.outputTokens ?? 0,
      total_tokens: usage?.totalTokens ?? 0,
      ...(usage?.costUsd !== undefined && { cost_usd: usage.costUsd }),
    },
    durationMs,
  };
}

function encodePart(part: Part): object {
  switch (part.type) {
    case 'text':
      return { kind: 'text', text: part.text, metadata: part.metadata };
    case 'data':
      return {
        kind: 'data',
        data: isObject(part.data) ? part.data : { value: part.data },
        metadata: part.metadata,
      };
    case 'file': {
      const { bytes, uri, name, mediaType, metadata } = part;
      return { kind: 'file', file: { bytes, uri, name, mimeType: mediaType }, metadata };
    }
  }
}

/** 0.3 as the contract's JSON-RPC wire and its REST aliases have it. */
export const v03: Dialect = {
  name: 'v03',
  version: '0.3',
  strict: false,
  protobuf: false,
  contentType: 'application/json',
  task: encodeTask,
  taskResult: encodeTask,
  messageResult: encodeMessage,
  taskFrame: (task) => encodeTask(task),
  eventFrame(task, event) {
    if (event.type === 'status') return encodeStatusEvent(task, event);
    return event.type === 'artifact' ? encodeArtifactEvent(task, event) : encodeMessage(event.message);
  },
  page: (page, view) => ({ ...page, tasks: page.tasks.map((task) => encodeTask(task, view)) }),
  pushConfig: encodePushConfig,
  pushConfigs: (configs) => configs.map(encodePushConfig),
  deleted: null,
  pushBody: encodePushBody,
};

/** The token stays here. */
function encodePushConfig({ id, taskId, url }: PushConfig): object {
  return { taskId, pushNotificationConfig: { id, url } };
}

/** The frame that a stream would carry; on completion with the answer, so that nothing has to be asked for. */
function encodePushBody(task: Task, event: TaskEvent): object {
  const frame = v03.eventFrame(task, event);
  const [answer] = task.artifacts;
  const completed = event.type === 'status' && event.state === 'completed';
  return completed && answer !== undefined ? { ...frame, artifact: encodeArtifact(answer) } : frame;
}
