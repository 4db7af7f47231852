import type { ArtifactEvent, Message, Part, StatusEvent, Task } from '../../protocol/model.ts';
import type { PushConfig } from '../../push/push-store.ts';
import { type Dialect, recentHistory, type TaskPlace, type TaskView, timestamp } from '../dialect.ts';
import { isObject } from '../read/values.ts';
import { roleName, stateName } from '../v10/names.ts';
import { v03 } from './dialect.ts';

/** 0.3 under `/v1`: the protocol buffers of that version as JSON, which differ from its JSON-RPC forms. */
export const v03Rest: Dialect = {
  ...v03,
  name: 'v03-rest',
  protobuf: true,
  task: encodeTask,
  taskResult: (task, view) => ({ task: encodeTask(task, view) }),
  messageResult: (message) => ({ message: encodeMessage(message) }),
  taskFrame: (task) => ({ task: encodeTask(task) }),
  eventFrame(task, event) {
    if (event.type === 'status') return { statusUpdate: encodeStatusEvent(task, event) };
    if (event.type === 'artifact') return { artifactUpdate: encodeArtifactEvent(task, event) };
    return { message: encodeMessage(event.message) };
  },
  page: (page, view) => ({ ...page, tasks: page.tasks.map((task) => encodeTask(task, view)) }),
  pushConfig: encodePushConfig,
  pushConfigs: (configs) => ({ configs: configs.map(encodePushConfig) }),
};

function encodeTask(task: Task, view: TaskView = {}): object {
  return {
    id: task.id,
    contextId: task.contextId,
    status: encodeStatus(task.state, task.updatedAt, task.statusMessage),
    artifacts: view.artifacts === false ? undefined : task.artifacts.map(encodeArtifact),
    history: recentHistory(task, view).map(encodeMessage),
    metadata: task.metadata,
  };
}

function encodeStatusEvent(task: TaskPlace, event: StatusEvent): object {
  return {
    taskId: task.id,
    contextId: task.contextId,
    status: encodeStatus(event.state, event.at, event.message),
    final: event.state !== 'working',
  };
}

function encodeArtifactEvent(task: TaskPlace, event: ArtifactEvent): object {
  const { append, lastChunk } = event;
  return {
    taskId: task.id,
    contextId: task.contextId,
    artifact: encodeArtifact(event.artifact),
    append,
    lastChunk,
  };
}

function encodeStatus(state: Task['state'], at: number, message: Message | undefined): object {
  // This version wrote the word with two l.
  const name = state === 'canceled' ? 'TASK_STATE_CANCELLED' : stateName(state);
  return { state: name, timestamp: timestamp(at), message: message && encodeMessage(message) };
}

function encodeMessage(message: Message): object {
  return {
    messageId: message.messageId,
    contextId: message.contextId,
    taskId: message.taskId,
    role: roleName(message.role),
    content: message.parts.map(encodePart),
    metadata: message.metadata,
  };
}

function encodeArtifact(artifact: Task['artifacts'][number]): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

function encodePart(part: Part): object {
  switch (part.type) {
    case 'text':
      return { text: part.text };
    case 'data':
      return { data: { data: isObject(part.data) ? part.data : { value: part.data } } };
    case 'file':
      return {
        file: { fileWithBytes: part.bytes, fileWithUri: part.uri, mimeType: part.mediaType, name: part.name },
      };
  }
}

/** The token stays here. */
function encodePushConfig({ id, taskId, url }: PushConfig): object {
  return { name: `tasks/${taskId}/pushNotificationConfigs/${id}`, pushNotificationConfig: { id, url } };
}
