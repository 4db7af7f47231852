import type { MiddlewareHandler } from 'hono';
import { describeRoute as describe, resolver } from 'hono-openapi';
import type { z } from 'zod';
import type { ErrorKind } from '../errors/http-error.ts';

export interface RouteDescription {
  summary: string;
  description?: string;
  tags?: string[];
  /** What a success answers with. */
  response?: z.ZodType;
  /** The media type of a success; default JSON. */
  mediaType?: string;
  /** The status of a success; default 200. */
  status?: number;
  /** Errors of a catalogue that the route can answer with. */
  errors?: readonly ErrorKind[];
}

/** Goes first in a route's list of handlers and says in `/openapi.json` and `/docs` what the route does. */
export function describeRoute(description: RouteDescription): MiddlewareHandler {
  const { response, mediaType = 'application/json', status = 200, errors = [], ...texts } = description;
  const content = response === undefined ? {} : { content: { [mediaType]: { schema: resolver(response) } } };
  return describe({
    ...texts,
    responses: { ...errorResponses(errors), [status]: { description: 'Success.', ...content } },
  });
}

/** Several errors may share a status; each is named by its code. */
function errorResponses(errors: readonly ErrorKind[]): Record<string, { description: string }> {
  const codes = Map.groupBy(errors, ({ status }) => String(status));
  return Object.fromEntries(
    [...codes].map(([status, kinds]) => [status, { description: kinds.map(({ code }) => code).join(', ') }]),
  );
}
