import type { ToolProgress } from './options.ts';

/** Servers report as often as they like; nobody reads faster than this. */
const everyMs = 500;
const longest = 300;

/** The reports of one running call. */
interface Reports {
  reportedAt: number;
  /** Came too soon after the one before; `timer` releases it. */
  held?: ToolProgress | undefined;
  timer?: NodeJS.Timeout | undefined;
}

/** What running tools say of their progress, the newest of each call, on its way to whoever reads the turn. */
export class ToolReports {
  readonly #waiting = new Map<string, ToolProgress>();
  readonly #calls = new Map<string, Reports>();
  #arrival = Promise.withResolvers<undefined>();

  /** Resolves when there is something to take. */
  get arrival(): Promise<undefined> {
    return this.#arrival.promise;
  }

  add({ toolCallId, name }: { toolCallId: string; name: string }, words: string): void {
    const text = words.replace(/\s+/g, ' ').trim().slice(0, longest);
    if (text === '') return;
    const call = this.#calls.get(toolCallId) ?? { reportedAt: Number.NEGATIVE_INFINITY };
    this.#calls.set(toolCallId, call);
    call.held = { type: 'tool-progress', toolCallId, name, text };
    const waitMs = call.reportedAt + everyMs - performance.now();
    if (waitMs <= 0) this.#release(call);
    else call.timer ??= setTimeout(() => this.#release(call), waitMs).unref();
  }

  take(): ToolProgress[] {
    this.#arrival = Promise.withResolvers();
    const reports = [...this.#waiting.values()];
    this.#waiting.clear();
    return reports;
  }

  /** The call is over: nobody needs the rest of its reports. */
  end(toolCallId: string): void {
    clearTimeout(this.#calls.get(toolCallId)?.timer);
    this.#calls.delete(toolCallId);
    this.#waiting.delete(toolCallId);
  }

  #release(call: Reports): void {
    const { held, timer } = call;
    clearTimeout(timer);
    Object.assign(call, { reportedAt: performance.now(), held: undefined, timer: undefined });
    if (held === undefined) return;
    this.#waiting.set(held.toolCallId, held);
    this.#arrival.resolve(undefined);
  }
}
