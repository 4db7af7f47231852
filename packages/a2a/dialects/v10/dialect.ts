import type { PushConfig } from '../../push/push-config.ts';
import type { Dialect } from '../dialect.ts';
import { encodeArtifactEvent, encodeMessage, encodeStatusEvent, encodeTask } from './encode.ts';

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
