import type { Env, HonoRequest, MiddlewareHandler } from 'hono';
import { resolver, uniqueSymbol } from 'hono-openapi';
import type { z } from 'zod';
import { readForm, readJson } from './read-body.ts';
import { ValidationError, type ValidationIssue } from './validation-error.ts';

export type ValidationTarget = 'json' | 'form' | 'query' | 'param';

const READERS: Record<ValidationTarget, (request: HonoRequest) => unknown> = {
  json: readJson,
  form: readForm,
  query: readQuery,
  param: (request) => request.param(),
};

const PLACES: Record<ValidationTarget, string> = {
  json: 'body',
  form: 'body',
  query: 'query',
  param: 'path',
};

/** Checks one part of the request; the handler reads the result with `c.req.valid(target)`. */
export function validate<
  Target extends ValidationTarget,
  Schema extends z.ZodType,
  E extends Env,
  P extends string,
>(
  target: Target,
  schema: Schema,
): MiddlewareHandler<
  E,
  P,
  { in: { [Key in Target]: z.input<Schema> }; out: { [Key in Target]: z.output<Schema> } }
> {
  const middleware: MiddlewareHandler<E, P> = async (context, next) => {
    const result = await schema.safeParseAsync(await READERS[target](context.req));
    if (!result.success)
      throw new ValidationError(result.error.issues.map((issue) => toIssue(target, issue)));
    context.req.addValidatedData(target, result.data as object);
    return next();
  };
  return Object.assign(middleware, { [uniqueSymbol]: { target, ...resolver(schema) } });
}

function toIssue(target: ValidationTarget, issue: z.core.$ZodIssue): ValidationIssue {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const msg = issue.message.endsWith('received undefined') ? 'This field is required.' : issue.message;
  return { loc: [PLACES[target], ...path], msg };
}

/** A name that comes several times is a list. */
function readQuery(request: HonoRequest): unknown {
  const entries = Object.entries(request.queries());
  return Object.fromEntries(
    entries.map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}
