import type { Env, Hono } from 'hono';
import { inspectRoutes } from 'hono/dev';

export interface RouteEntry {
  /** `ALL` for a handler that takes every method. */
  method: string;
  path: string;
}

/** Every method and path that a handler answers, middleware left out. */
export function listRoutes<E extends Env>(app: Hono<E>): RouteEntry[] {
  const seen = new Map<string, RouteEntry>();
  for (const { method, path, isMiddleware } of inspectRoutes(app)) {
    if (!isMiddleware || method !== 'ALL') seen.set(`${method} ${path}`, { method, path });
  }
  return [...seen.values()];
}
