import { type AppEnv, describeRoute, type RouteDescription, validate } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Hono, MiddlewareHandler } from 'hono';
import type { ParamKeys } from 'hono/types';
import type { z } from 'zod';
import { asHttpError } from './console/errors.ts';

/** What a route checks of a request before it handles it. */
interface Inputs {
  query?: z.ZodType;
  json?: z.ZodType;
  param?: z.ZodType;
}

interface RouteSpec extends Inputs, Omit<RouteDescription, 'query' | 'body'> {
  /** Runs before anything is checked. */
  guard?: MiddlewareHandler;
}

type Checked<Schema, Otherwise> = Schema extends z.ZodType ? z.output<Schema> : Otherwise;

interface JsonRequest<Path extends string, Spec extends Inputs> {
  query: Checked<Spec['query'], undefined>;
  json: Checked<Spec['json'], undefined>;
  param: Checked<Spec['param'], Record<ParamKeys<Path>, string>>;
  principal: Principal;
  signal: AbortSignal;
}

type Handle<Path extends string, Spec extends Inputs> = (request: JsonRequest<Path, Spec>) => unknown;

/** Mounts a route that answers with what its handler returns, as JSON; refusals of stores and engine become answers. */
type Mount = <const Path extends string, Spec extends RouteSpec>(
  path: Path,
  spec: Spec,
  handle: Handle<Path, Spec>,
) => void;

export type JsonRoutes = Record<'get' | 'post' | 'put' | 'patch' | 'delete', Mount>;

export function jsonRoutes(app: Hono<AppEnv>): JsonRoutes {
  const on =
    (method: string): Mount =>
    (path, { guard, query, json, param, ...description }, handle) => {
      const checks: (MiddlewareHandler | undefined)[] = [
        guard,
        param && validate('param', param),
        query && validate('query', query),
        json && validate('json', json),
      ];
      const given = checks.filter((check) => check !== undefined);
      app.on(method, [path], describeRoute(description as RouteDescription), ...given, async (context) => {
        const { req } = context;
        const input = (target: string) => req.valid(target as never);
        const request = {
          query: input('query'),
          json: input('json'),
          param: param === undefined ? req.param() : input('param'),
          principal: context.get('principal'),
          signal: req.raw.signal,
        } as unknown as Parameters<typeof handle>[0];
        try {
          return context.json(await handle(request));
        } catch (error) {
          throw asHttpError(error);
        }
      });
    };
  return { get: on('GET'), post: on('POST'), put: on('PUT'), patch: on('PATCH'), delete: on('DELETE') };
}
