import type { Task, TaskEvent } from '../../protocol/model.ts';
import type { PushConfig } from '../../push/push-config.ts';
import type { Dialect } from '../dialect.ts';
import {
  encodeArtifact,
  encodeArtifactEvent,
  encodeMessage,
  encodeStatusEvent,
  encodeTask,
} from './encode.ts';

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
