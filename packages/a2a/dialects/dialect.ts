import type { TaskPage } from '../engine/task-memory.ts';
import type {
  Artifact,
  ArtifactEvent,
  Message,
  Part,
  ProtocolVersion,
  StatusEvent,
  Task,
  TaskEvent,
  TaskState,
} from '../protocol/model.ts';
import type { PushConfig } from '../push/push-store.ts';

/** How much of a task a caller wants to see. */
export interface TaskView {
  /** At most this many of the last messages; all if undefined. */
  historyLength?: number;
  /** Default true. */
  artifacts?: boolean;
}

/** Which task an event belongs to. */
interface TaskPlace {
  id: string;
  contextId: string;
}

/** What a dialect says and how it behaves; `createDialect` builds the encoders from it. */
export interface Spelling {
  readonly name: 'v03' | 'v03-rest' | 'v10';
  readonly version: ProtocolVersion;
  /** 1.0 refuses what the 0.3 wire of the contract lets pass. */
  readonly strict: boolean;
  /** Messages come as protocol buffers in JSON: data parts are wrapped once more, and flags that are off are left out. */
  readonly protobuf: boolean;
  readonly contentType: string;
  /** Objects name their `kind`; otherwise results and frames are wrapped in the name of what they hold. */
  readonly hasKinds: boolean;
  /** Empty lists are left out, unless the caller asked for them. */
  readonly omitsEmptyLists: boolean;
  readonly partsField: 'parts' | 'content';
  state(state: TaskState): string;
  role(role: Message['role']): string;
  part(part: Part): object;
  /** The fields of a task, and of a status update, in which the versions differ. */
  taskFields(task: Task): object;
  statusFields(event: StatusEvent): object;
  /** Never holds the token. */
  pushConfig(config: PushConfig): object;
  pushConfigList(configs: object[]): object;
  /** The answer to a deletion. */
  readonly deleted: object | null;
}

/** Encodes what the engine knows for the wire. */
export interface Dialect extends Spelling {
  task(task: Task, view?: TaskView): object;
  artifact(artifact: Artifact): object;
  /** The result of a message: the task it led to, or the plain reply. */
  taskResult(task: Task, view?: TaskView): object;
  messageResult(message: Message): object;
  /** A frame of a stream. */
  eventFrame(task: TaskPlace, event: TaskEvent): object;
  page(page: TaskPage, view: TaskView): object;
  pushConfigs(configs: readonly PushConfig[]): object;
}

export function createDialect(spelling: Spelling): Dialect {
  const { hasKinds, omitsEmptyLists, partsField, protobuf } = spelling;
  // Fields that a dialect lacks are undefined: JSON leaves them out, and objects of one shape are made several times as fast.
  const kind = (name: string) => (hasKinds ? name : undefined);
  const list = (items: object[], isWanted = false) =>
    omitsEmptyLists && !isWanted && items.length === 0 ? undefined : items;

  const encodeMessage = (message: Message) => {
    const parts = message.parts.map(spelling.part);
    return {
      kind: kind('message'),
      messageId: message.messageId,
      role: spelling.role(message.role),
      parts: partsField === 'parts' ? parts : undefined,
      content: partsField === 'content' ? parts : undefined,
      taskId: message.taskId,
      contextId: message.contextId,
      metadata: message.metadata,
      extensions: message.extensions,
      // The protocol buffers of 0.3 have no such field.
      referenceTaskIds: protobuf ? undefined : message.referenceTaskIds,
    };
  };
  const encodeArtifact = (artifact: Artifact) => ({ ...artifact, parts: artifact.parts.map(spelling.part) });
  const encodeStatus = (state: TaskState, at: number, message: Message | undefined) => ({
    state: spelling.state(state),
    timestamp: isoTime(at),
    message: message && encodeMessage(message),
  });
  const encodeTask = (task: Task, { historyLength, artifacts }: TaskView = {}) => ({
    kind: kind('task'),
    id: task.id,
    contextId: task.contextId,
    status: encodeStatus(task.state, task.updatedAt, task.statusMessage),
    artifacts: artifacts === false ? undefined : list(task.artifacts.map(encodeArtifact), artifacts),
    history: list(recent(task.history, historyLength).map(encodeMessage)),
    ...spelling.taskFields(task),
  });
  const encodeStatusEvent = ({ id, contextId }: TaskPlace, event: StatusEvent) => ({
    kind: kind('status-update'),
    taskId: id,
    contextId,
    status: encodeStatus(event.state, event.at, event.message),
    ...spelling.statusFields(event),
  });
  const encodeArtifactEvent = (
    { id, contextId }: TaskPlace,
    { artifact, append, lastChunk }: ArtifactEvent,
  ) => ({
    kind: kind('artifact-update'),
    taskId: id,
    contextId,
    artifact: encodeArtifact(artifact),
    append,
    lastChunk,
  });
  const messageFrame = (message: Message) => {
    const encoded = encodeMessage(message);
    return hasKinds ? encoded : { message: encoded };
  };

  return {
    ...spelling,
    task: encodeTask,
    artifact: encodeArtifact,
    taskResult(task, view) {
      const encoded = encodeTask(task, view);
      return hasKinds ? encoded : { task: encoded };
    },
    messageResult: messageFrame,
    eventFrame(task, event) {
      if (event.type === 'message') return messageFrame(event.message);
      if (event.type === 'status') {
        const statusUpdate = encodeStatusEvent(task, event);
        return hasKinds ? statusUpdate : { statusUpdate };
      }
      const artifactUpdate = encodeArtifactEvent(task, event);
      return hasKinds ? artifactUpdate : { artifactUpdate };
    },
    page: (page, view) => ({ ...page, tasks: page.tasks.map((task) => encodeTask(task, view)) }),
    pushConfigs: (configs) => spelling.pushConfigList(configs.map(spelling.pushConfig)),
  };
}

let lastTime = { at: 0, text: new Date(0).toISOString() };

/** Most are of the millisecond of the one before. */
function isoTime(at: number): string {
  if (lastTime.at !== at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

function recent(history: readonly Message[], length = history.length): readonly Message[] {
  return length === 0 ? [] : history.slice(-length);
}
