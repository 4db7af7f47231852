import type { Env, HonoRequest, MiddlewareHandler } from 'hono';
import { resolver, uniqueSymbol } from 'hono-openapi';
import type { z } from 'zod';
import { findHttpError, HttpError } from '../errors/http-error.ts';

/** Far deeper than what people and programs write; what walks a value by calling itself fails at some thousands. */
const DEEPEST = 256;

const QUOTE = 34;

const BACKSLASH = 92;

/** The body as JSON whatever content type it claims; undefined when it is empty. */
export async function readJson(request: HonoRequest): Promise<unknown> {
  const text = await request.text();
  if (text.trim() === '') return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    const issue = { loc: ['body'], msg: 'The body is not valid JSON.' };
    throw new ValidationError([issue], 'malformed_json', error);
  }
}

/** The fields of a form; a field that comes several times is a list. */
async function readForm(request: HonoRequest): Promise<unknown> {
  try {
    return await request.parseBody({ all: true });
  } catch (error) {
    const issue = { loc: ['body'], msg: 'The body is not a readable form.' };
    // The size limit of the body may have stopped the reader.
    throw findHttpError(error) ?? new ValidationError([issue], 'malformed_form', error);
  }
}

/** JSON that a stranger sent; throws a SyntaxError for what is malformed, and for what is nested deeper than any use. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`it is nested deeper than ${DEEPEST} levels`);
  return JSON.parse(text);
}

function isTooDeep(text: string): boolean {
  // A text that short cannot.
  if (text.length <= DEEPEST) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index + 1);
    else if (isOpening(code)) depth += 1;
    else if (isClosing(code)) depth -= 1;
    if (depth > DEEPEST) return true;
  }
  return false;
}

function isOpening(code: number): boolean {
  return code === 91 || code === 123;
}

function isClosing(code: number): boolean {
  return code === 93 || code === 125;
}

/** Where the quote stands that ends the string. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

export interface ValidationIssue {
  /** Where it is: `body`, `query` or `path`, then the field. */
  loc: (string | number)[];
  msg: string;
}

type ValidationCode = 'validation_failed' | 'malformed_json' | 'malformed_form';

/** Input that is not what the route takes. Carries 400; a service's renderer may answer 422. */
export class ValidationError extends HttpError {
  readonly issues: readonly ValidationIssue[];

  constructor(
    issues: readonly ValidationIssue[],
    code: ValidationCode = 'validation_failed',
    cause?: unknown,
  ) {
    super(code, 400, summary(issues), { details: issues, cause });
    this.name = 'ValidationError';
    this.issues = issues;
  }
}

function summary(issues: readonly ValidationIssue[]): string {
  return issues.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}

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
    // No schema of a route waits for anything: zod compiles what it need not await.
    const result = schema.safeParse(await READERS[target](context.req));
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
