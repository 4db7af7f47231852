import type { TaskPage } from '../engine/task-memory.ts';
import type { Message, Task, TaskEvent } from '../protocol/model.ts';
import type { PushConfig } from '../push/push-store.ts';
import type { ProtocolVersion } from './version.ts';

/** How much of a task a caller wants to see. */
export interface TaskView {
  /** At most so many of the last messages; all when left out. */
  historyLength?: number;
  /** Default true. */
  artifacts?: boolean;
}

/** One spelling of the protocol: what the engine knows, as the wire has it. */
export interface Dialect {
  readonly name: 'v03' | 'v03-rest' | 'v10';
  readonly version: ProtocolVersion;
  /** Where the versions differ in behaviour, 1.0 refuses what the 0.3 wire of the contract lets pass. */
  readonly strict: boolean;
  /** Messages come as the JSON of protocol buffers: data parts are wrapped once more, and flags that are off are left out. */
  readonly protobuf: boolean;
  task(task: Task, view?: TaskView): object;
  /** The result of a message: the task it led to, or the plain reply. */
  taskResult(task: Task, view?: TaskView): object;
  messageResult(message: Message): object;
  /** A frame of a stream. */
  taskFrame(task: Task): object;
  eventFrame(task: TaskPlace, event: TaskEvent): object;
  page(page: TaskPage, view: TaskView): object;
  pushConfig(config: PushConfig): object;
  pushConfigs(configs: readonly PushConfig[]): object;
  /** The answer to a deletion. */
  readonly deleted: object | null;
  /** What a webhook gets. */
  pushBody(task: Task, event: TaskEvent): object;
  readonly contentType: string;
}

export interface TaskPlace {
  id: string;
  contextId: string;
}

let lastTime = { milliseconds: 0, text: '' };

/** Times of one answer are mostly the same, and their text is not cheap to make. */
export function timestamp(milliseconds: number): string {
  if (milliseconds !== lastTime.milliseconds || lastTime.text === '') {
    lastTime = { milliseconds, text: new Date(milliseconds).toISOString() };
  }
  return lastTime.text;
}

export function recentHistory(task: Task, { historyLength }: TaskView): readonly Message[] {
  if (historyLength === undefined) return task.history;
  return historyLength === 0 ? [] : task.history.slice(-historyLength);
}
