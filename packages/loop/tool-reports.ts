import type { ToolProgress } from './options.ts';

/** Servers report as often as they like; nobody reads faster than this. */
const everyMs = 500;
const longest = 300;

/** What running tools say of their progress, the newest of each call, on its way to whoever reads the turn. */
export class ToolReports {
  readonly #waiting = new Map<string, ToolProgress>();
  readonly #reportedAt = new Map<string, number>();
  #arrival = Promise.withResolvers<undefined>();

  /** Resolves when there is something to take. */
  get arrival(): Promise<undefined> {
    return this.#arrival.promise;
  }

  add({ toolCallId, name }: { toolCallId: string; name: string }, words: string): void {
    const text = words.replace(/\s+/g, ' ').trim().slice(0, longest);
    const now = performance.now();
    if (text === '' || now - (this.#reportedAt.get(toolCallId) ?? -everyMs) < everyMs) return;
    this.#reportedAt.set(toolCallId, now);
    this.#waiting.set(toolCallId, { type: 'tool-progress', toolCallId, name, text });
    this.#arrival.resolve(undefined);
  }

  take(): ToolProgress[] {
    this.#arrival = Promise.withResolvers();
    const reports = [...this.#waiting.values()];
    this.#waiting.clear();
    return reports;
  }
}
