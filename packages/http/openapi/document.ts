import type { Hono, MiddlewareHandler } from 'hono';
import { generateSpecs, uniqueSymbol } from 'hono-openapi';
import type { AppEnv } from '../app/context.ts';
import type { RenderError } from '../errors/http-error.ts';
import { ValidationError } from '../validation/validate.ts';

/** The field that carries guards through the generator to the document. */
const GUARDS_FIELD = 'x-guards';

const SECURITY_SCHEMES: Record<string, SecurityScheme> = {
  'x-api-key': { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  bearer: { type: 'http', scheme: 'bearer' },
};

export interface DocumentOptions {
  service: string;
  version: string;
  description?: string;
  renderError: RenderError;
}

/** The description does not describe itself. */
const DOCS_PATHS = ['/openapi.json', '/docs', '/docs/style.css'];
const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;

/** The description of every route, made from the routes themselves. */
export async function generateDocument<Caller>(
  app: Hono<AppEnv<Caller>>,
  options: DocumentOptions,
): Promise<ApiDocument> {
  const { service, version, description = '' } = options;
  const invalid = invalidInput(options.renderError);
  const document = await generateSpecs(app, {
    documentation: {
      info: { title: service, version, description },
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    includeEmptyPaths: true,
    excludeStaticFile: false,
    exclude: DOCS_PATHS,
    defaultValidationErrorResponse: invalid.response,
  });
  document.paths = Object.fromEntries(
    Object.entries(document.paths ?? {}).map(([path, item]) => [plainPath(path), item]),
  );
  for (const { operation, path } of operationsOf(document)) {
    applyGuards(operation, path);
    operation.responses = completeResponses(operation.responses, invalid);
  }
  return document;
}

/** The generator leaves the pattern of `:id{[^/]+:cancel}` in the path: what matters to a reader is `{id}:cancel`. */
function plainPath(path: string): string {
  return path.replace(/\{(\w+)\{[^+]*\+(:[A-Za-z]+)?\}/g, '{$1}$2');
}

export interface ListedOperation {
  method: string;
  path: string;
  operation: Operation;
}

export function operationsOf(document: ApiDocument): ListedOperation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method];
      return operation === undefined ? [] : [{ method, path, operation }];
    }),
  );
}

interface InvalidInput {
  status: string;
  response: ResponseDescription;
}

/** What this service answers to input that does not fit, found by asking its own renderer. */
function invalidInput(renderError: RenderError): InvalidInput {
  const error = new ValidationError([{ loc: ['body', 'field'], msg: 'This field is required.' }]);
  const reply = renderError(error, { method: 'POST', path: '/', requestId: '' });
  return {
    status: String(reply.status ?? error.status),
    response: {
      description: 'The input does not fit.',
      content: { 'application/json': { example: reply.body } },
    },
  };
}

/** Names every answer, adds the success that the generator leaves out, and moves its 400 to where it belongs. */
function completeResponses(responses: Operation['responses'], invalid: InvalidInput): Operation['responses'] {
  const complete: Record<string, unknown> = {};
  for (const [status, response] of Object.entries(responses ?? {})) {
    const isInvalid = JSON.stringify(response) === JSON.stringify(invalid.response);
    complete[isInvalid ? invalid.status : status] = { description: 'Success.', ...response };
  }
  if (!Object.keys(complete).some((status) => /^[123]/.test(status)))
    complete[200] = { description: 'Success.' };
  return complete as Operation['responses'];
}

/** Turns the guards in front of a route into its security requirement: each guard must be met by one of its places. */
function applyGuards(operation: Operation, path: string): void {
  const fields = operation as { [GUARDS_FIELD]?: GuardMark[] };
  const guards = [...new Set(fields[GUARDS_FIELD])].filter(({ except }) => !except.includes(path));
  delete fields[GUARDS_FIELD];
  if (guards.length === 0) return;
  operation.security = waysIn(guards);
  operation.responses = { '401': { description: 'A key is missing or unknown.' }, ...operation.responses };
}

/** Every combination of one place a guard, each combination once. */
function waysIn(guards: readonly GuardMark[]): Record<string, string[]>[] {
  const combinations = guards.reduce<string[][]>(
    (ways, { credentials }) => ways.flatMap((way) => credentials.map((place) => [...way, place])),
    [[]],
  );
  const distinct = new Map(combinations.map((places) => [[...new Set(places)].sort().join(), places]));
  return [...distinct.values()].map((places) => Object.fromEntries(places.map((place) => [place, []])));
}

/** The parts of an OpenAPI 3.1 document, as the generator types them. */
export type ApiDocument = Awaited<ReturnType<typeof generateSpecs>>;

export type Operation = NonNullable<NonNullable<ApiDocument['paths'][string]>['get']>;

type Components = NonNullable<ApiDocument['components']>;

export type Schema = NonNullable<Components['schemas']>[string];

export type SchemaOrReference = Schema | { $ref: string };

export type Parameter = Exclude<NonNullable<Components['parameters']>[string], { $ref: string }>;

export type ResponseDescription = Exclude<NonNullable<Components['responses']>[string], { $ref: string }>;

type SecurityScheme = Exclude<NonNullable<Components['securitySchemes']>[string], { $ref: string }>;

interface GuardMark {
  credentials: readonly string[];
  except: readonly string[];
}

/** Lets the API description know that a middleware asks for a key. */
export function markGuard<Handler extends MiddlewareHandler>(handler: Handler, mark: GuardMark): Handler {
  return Object.assign(handler, { [uniqueSymbol]: { spec: { [GUARDS_FIELD]: [mark] } } });
}
