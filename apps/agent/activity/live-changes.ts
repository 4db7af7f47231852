import type { Task, TaskObserver } from '@trunkline/a2a';
import { type AppEnv, formatSseFrame } from '@trunkline/http';
import { maySee, ownerKey, type Principal } from '@trunkline/identity';
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
  readonly #listeners = new Map<Listener, Principal>();

  /** Reports to those who may see what has changed; to all where it is nobody's. */
  changed(parts: readonly ConsolePart[], owner?: string): void {
    if (this.#listeners.size === 0 || parts.length === 0) return;
    const frame = Buffer.from(formatSseFrame({ event: 'change', data: JSON.stringify({ parts }) }));
    for (const [listener, viewer] of this.#listeners) if (maySee(viewer, owner)) listener(frame);
  }

  /** Returns the function that ends the subscription. */
  subscribe(viewer: Principal, listener: Listener): () => void {
    this.#listeners.set(listener, viewer);
    return () => this.#listeners.delete(listener);
  }

  readonly tasks: TaskObserver = {
    turnStarted: (task) => this.#task(task),
    turnEnded: (task) => this.#task(task),
  };

  readonly turns: ObserveTurn = (_session, event, principal) => {
    const owner = ownerKey(principal);
    if (event.type === 'usage') return this.changed(['telemetry'], owner);
    if (event.type === 'tool-end') this.changed(['audit', ...partsOf(toolParts, event.name)], owner);
  };

  /** Changes that come through the API. */
  readonly requests: MiddlewareHandler<AppEnv> = async (context, next) => {
    await next();
    if (context.req.method === 'GET' || !context.res.ok) return;
    const parts = partsOf(pathParts, context.req.path);
    this.changed(parts, parts.includes('config') ? undefined : ownerKey(context.get('principal')));
  };

  #task({ metadata, owner }: Task): void {
    this.changed(metadata?.scheduler_job_id === undefined ? ['tasks'] : ['tasks', 'schedules'], owner);
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
