import type { MiddlewareHandler } from 'hono';
import { describeRoute as describe, resolver } from 'hono-openapi';
import { z } from 'zod';
import type { ErrorKind } from '../errors/http-error.ts';
import type { RouteExample } from './examples.ts';

/** Carries an example through the generator to the document. */
export const EXAMPLE_FIELD = 'x-example';

export interface RouteDescription {
  summary: string;
  description?: string;
  /** The group in `/docs`; by default that of the path. */
  tags?: string[];
  /** The query and the JSON body of a handler that reads them itself; what `validate` checks is known already. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Headers that matter to callers, each with what it does. */
  headers?: Readonly<Record<string, string>>;
  /** What a success answers with. */
  response?: z.ZodType;
  /** The media type of a success; default JSON. */
  mediaType?: string;
  /** The status of a success; default 200. */
  status?: number;
  /** Errors of a catalogue that the route can answer with. */
  errors?: readonly ErrorKind[];
  /** A request and its answer; without it the one in the service's `examples.json` counts. */
  example?: RouteExample;
}

/** Goes first in a route's list of handlers and says in `/openapi.json` and `/docs` what the route does. */
export function describeRoute(description: RouteDescription): MiddlewareHandler {
  const { response, mediaType = 'application/json', status = 200, errors = [], ...rest } = description;
  const { query, body, headers = {}, example, ...texts } = rest;
  const content =
    response === undefined
      ? mediaType === 'application/json'
        ? {}
        : { content: { [mediaType]: {} } }
      : { content: { [mediaType]: { schema: resolver(response) } } };
  // Getters, as only the document needs the schemas, and making them takes its time of each start.
  const parameters = [
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
      name,
      in: 'query' as const,
      get required() {
        return !(schema as z.ZodType).isOptional();
      },
      get schema() {
        return jsonSchema(schema as z.ZodType);
      },
    })),
    ...Object.entries(headers).map(([name, words]) => ({
      name,
      in: 'header' as const,
      description: words,
      schema: { type: 'string' as const },
    })),
  ];
  const handler = describe({
    ...texts,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            get schema() {
              return jsonSchema(body);
            },
          },
        },
      },
    }),
    ...(example !== undefined && { [EXAMPLE_FIELD]: example }),
    responses: { ...errorResponses(errors), [status]: { description: 'Success.', ...content } },
  });
  descriptions.add(handler);
  return handler;
}

/** Handlers that do nothing with a request. */
const descriptions = new WeakSet<MiddlewareHandler>();

export function isRouteDescription(handler: unknown): boolean {
  return typeof handler === 'function' && descriptions.has(handler as MiddlewareHandler);
}

function jsonSchema(schema: z.ZodType): object {
  const { $schema, ...rest } = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' });
  return rest;
}

/** Several errors may share a status; each is named by its code. */
function errorResponses(errors: readonly ErrorKind[]): Record<string, { description: string }> {
  const codes = Map.groupBy(errors, ({ status }) => String(status));
  return Object.fromEntries(
    [...codes].map(([status, kinds]) => [status, { description: kinds.map(({ code }) => code).join(', ') }]),
  );
}
