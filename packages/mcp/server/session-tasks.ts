import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import type { Task } from '@modelcontextprotocol/sdk/types.js';

const MAX_RUNNING = 20;

/** The tasks of one session. They are gone with it, and so is what they still do. */
export class SessionTasks extends InMemoryTaskStore {
  readonly #running = new Map<string, AbortController>();

  get isFull(): boolean {
    return this.#running.size >= MAX_RUNNING;
  }

  /** The signal ends the work of a task that its client cancels. */
  start(taskId: string): AbortSignal {
    const controller = new AbortController();
    this.#running.set(taskId, controller);
    return controller.signal;
  }

  end(taskId: string): void {
    this.#running.delete(taskId);
  }

  override async updateTaskStatus(
    taskId: string,
    status: Task['status'],
    statusMessage?: string,
    sessionId?: string,
  ): Promise<void> {
    await super.updateTaskStatus(taskId, status, statusMessage, sessionId);
    if (status === 'cancelled') this.#running.get(taskId)?.abort(new Error('the client cancelled the task'));
  }

  close(): void {
    for (const controller of this.#running.values()) controller.abort(new Error('the session has ended'));
    this.cleanup();
  }
}
