import type { TaskObserver } from '@trunkline/a2a';
import { type AppEnv, formatSseFrame } from '@trunkline/http';
import type { MiddlewareHandler } from 'hono';
import type { ObserveTurn } from '../turns/turn-runner.ts';

/** Console data that can be out of date. */
export type ConsolePart =
  | 'tasks'
  | 'notes'
  | 'board'
  | 'goals'
  | 'memory'
  | 'schedules'
  | 'inbox'
  | 'audit'
  | 'telemetry'
  | 'config';

type Listener = (frame: Uint8Array) => void;

/** Reports to open consoles which of their data has changed, so that they load it again. */
export class LiveChanges {
  readonly #listeners = new Set<Listener>();

  changed(...parts: ConsolePart[]): void {
    if (this.#listeners.size === 0) return;
    const frame = Buffer.from(formatSseFrame({ event: 'change', data: JSON.stringify({ parts }) }));
    for (const listener of this.#listeners) listener(frame);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly tasks: TaskObserver = {
    turnStarted: ({ metadata }) => this.#task(metadata),
    turnEnded: ({ metadata }) => this.#task(metadata),
  };

  readonly turns: ObserveTurn = (_session, event) => {
    if (event.type === 'usage') return this.changed('telemetry');
    if (event.type === 'tool-end') this.changed('audit', ...partsOf(toolParts, event.name));
  };

  /** Changes that come through the API. */
  readonly requests: MiddlewareHandler<AppEnv> = async (context, next) => {
    await next();
    if (context.req.method === 'GET' || !context.res.ok) return;
    this.changed(...partsOf(pathParts, context.req.path));
  };

  #task(metadata: Record<string, unknown> | undefined): void {
    if (metadata?.scheduler_job_id === undefined) this.changed('tasks');
    else this.changed('tasks', 'schedules');
  }
}

const toolParts: [RegExp, ConsolePart][] = [
  [/^notes_(write|revert)$/, 'notes'],
  [/^beads_(create|update|close)$/, 'board'],
  [/^(memory_ingest|daily_log)$/, 'memory'],
  [/^(schedule_task|cancel_schedule)$/, 'schedules'],
  [/^set_goal$/, 'goals'],
  [/^check_inbox$/, 'inbox'],
];

const pathParts: [RegExp, ConsolePart][] = [
  [/^\/api\/notes\b/, 'notes'],
  [/^\/api\/beads\b/, 'board'],
  [/^\/api\/knowledge\b/, 'memory'],
  [/^\/api\/scheduler\b/, 'schedules'],
  [/^\/api\/goals\b/, 'goals'],
  [/^\/api\/inbox\b/, 'inbox'],
  [/^\/api\/(config|skills)\b/, 'config'],
];

function partsOf(rules: readonly [RegExp, ConsolePart][], name: string): ConsolePart[] {
  return rules.filter(([pattern]) => pattern.test(name)).map(([, part]) => part);
}
