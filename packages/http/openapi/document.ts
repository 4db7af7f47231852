import type { Hono, MiddlewareHandler } from 'hono';
import { inspectRoutes } from 'hono/dev';
import { generateSpecs, uniqueSymbol } from 'hono-openapi';
import type { AppEnv } from '../app/context.ts';
import { HttpError, type RenderError } from '../errors/http-error.ts';
import { ValidationError } from '../validation/validate.ts';
import { EXAMPLE_FIELD } from './describe-route.ts';
import {
  type ApiDocument,
  applyExample,
  findExample,
  type Operation,
  type Parameter,
  type ResponseDescription,
  type RouteExample,
  readExamples,
  type SecurityScheme,
} from './examples.ts';

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
  /** A JSON file with an example of each route of this service. */
  examples?: string;
}

/** The description does not describe itself. */
const DOCS_PATHS = ['/openapi.json', /^\/docs/, /^\/help/];
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
  const answered = answeredRoutes(app);
  document.paths = Object.fromEntries(
    Object.entries(document.paths ?? {}).map(([path, item]) => [plainPath(path), item]),
  );
  const examples = readExamples(options.examples);
  for (const { operation, path, method } of operationsOf(document)) {
    if (!answered.has(`${method} ${path}`)) {
      delete document.paths[path]?.[method];
      continue;
    }
    const fields = operation as { [EXAMPLE_FIELD]?: RouteExample };
    const example = fields[EXAMPLE_FIELD] ?? findExample(examples, method, path);
    delete fields[EXAMPLE_FIELD];
    applyGuards(operation, path);
    operation.operationId = operationId(method, path);
    operation.tags ??= [groupOf(path)];
    operation.parameters = completeParameters(operation, path, document);
    operation.responses = completeResponses(operation.responses, invalid);
    applyErrors(operation, path, options.renderError);
    applyExample(operation, example, document);
  }
  if (document.components !== undefined) delete document.components.parameters;
  const groups = operationsOf(document).flatMap(({ operation }) => operation.tags ?? []);
  document.tags = [...new Set(groups)].sort(compareGroups).map((name) => ({ name }));
  return document;
}

/** Routes with a handler: a guard alone, as for every method of a path, answers nothing. */
function answeredRoutes<Caller>(app: Hono<AppEnv<Caller>>): Set<string> {
  const handlers = inspectRoutes(app).filter(({ isMiddleware, method }) => !isMiddleware && method !== 'ALL');
  const named = handlers.map(({ method, path }) => `${method.toLowerCase()} ${plainPath(braced(path))}`);
  return new Set(named);
}

/** As the generator writes it, patterns of parameters included. */
function braced(path: string): string {
  return path.replace(/\/:(\w+)(\{[^}]*\})?/g, (_, name: string, pattern = '}') => `/{${name}${pattern}`);
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method, ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

type Parameters = NonNullable<Operation['parameters']>;

/** Every parameter in place, one of each name: the generator moves those it meets twice, and knows some by their pattern. */
function completeParameters(operation: Operation, path: string, document: ApiDocument): Parameters {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const given = (operation.parameters ?? []).map((parameter) => ({ ...resolve(parameter, document) }));
  const others = given.filter(({ in: place }) => place !== 'path');
  const named = inPath.map((name): Parameter => {
    const known = given.find((parameter) => parameter.in === 'path' && parameter.name === name);
    const description = known?.description ?? pathParameterText(path, name);
    return { schema: { type: 'string' }, ...known, name, in: 'path', required: true, description };
  });
  return [...named, ...others];
}

function resolve(parameter: Parameters[number], document: ApiDocument): Parameter {
  if (!('$ref' in parameter)) return parameter;
  const name = parameter.$ref.split('/').pop() ?? '';
  const found = document.components?.parameters?.[name];
  return found === undefined || '$ref' in found ? { name, in: 'query' } : found;
}

/** Refusals have the shape that this service gives them, found by asking its own renderer. */
function applyErrors(operation: Operation, path: string, renderError: RenderError): void {
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    if (Number(status) < 400 || '$ref' in response || response.content !== undefined) continue;
    const code = status === '401' ? 'unauthenticated' : (response.description.split(', ')[0] ?? '');
    const error = new HttpError(code, Number(status), `What went wrong, and what to do about it.`);
    const { body } = renderError(error, { method: 'GET', path, requestId: '' });
    response.content = { 'application/json': { example: body } };
  }
}

/** The generator leaves the pattern of `:id{[^/]+:cancel}` in the path: what matters to a reader is `{id}:cancel`. */
function plainPath(path: string): string {
  return path.replace(/\{(\w+)\{[^+]*\+(:[A-Za-z]+)?\}/g, '{$1}$2');
}

export interface ListedOperation {
  method: (typeof METHODS)[number];
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

interface GuardMark {
  credentials: readonly string[];
  except: readonly string[];
}

/** Lets the API description know that a middleware asks for a key. */
export function markGuard<Handler extends MiddlewareHandler>(handler: Handler, mark: GuardMark): Handler {
  return Object.assign(handler, { [uniqueSymbol]: { spec: { [GUARDS_FIELD]: [mark] } } });
}

/** Paths of A2A: at the root, below `/a2a`, and below `/v1` as version 0.3 had them. */
const A2A = /^\/(message:|tasks\b|extendedAgentCard|\.well-known\/agent|a2a$)/;
const A2A_03 = /^\/v1\/(message:|tasks\b|extendedAgentCard|card)/;

const NAMES: Readonly<Record<string, string>> = {
  healthz: 'Service',
  metrics: 'Service',
  ready: 'Service',
  v1: 'OpenAI API',
  mcp: 'MCP',
  oauth: 'MCP',
  'mcp-servers': 'MCP servers',
  'ab-tests': 'A/B tests',
  hitl: 'Questions to people',
  beads: 'Beads (issues)',
  ice: 'Calls',
  offer: 'Calls',
  a2a: 'A2A callbacks',
  '.well-known': 'Well-known addresses',
};

/** Groups that most readers look for last, in this order. */
const LAST = [
  'OpenAI API',
  'MCP',
  'A2A',
  'A2A below /a2a',
  'A2A 0.3',
  'A2A 0.3 below /a2a',
  'Well-known addresses',
  'Sign-in',
];

/** The group of a route in `/docs`, from its path. */
function groupOf(path: string): string {
  const inner = path.replace(/^\/a2a(?=\/(?!callback))/, '');
  const below = inner === path ? '' : ' below /a2a';
  if (A2A.test(inner)) return `A2A${below}`;
  if (A2A_03.test(inner)) return `A2A 0.3${below}`;
  const [first = '', second = ''] = path.split('/').slice(1);
  if (first === 'operator') {
    const isSignIn = second === '' || second === 'enter' || second === 'session';
    return isSignIn ? 'Sign-in' : `Operator: ${second}`;
  }
  const word = first === 'api' ? second : first;
  return NAMES[word] ?? title(word);
}

function title(word: string): string {
  const text = word.replaceAll('-', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The order of groups on the page: the service's own by name, then what all services have. */
function compareGroups(one: string, other: string): number {
  return rank(one) - rank(other) || one.localeCompare(other);
}

function rank(group: string): number {
  if (group.startsWith('Operator:')) return 100;
  if (group === 'Service') return 101;
  return LAST.indexOf(group) + 1;
}

/** What a parameter in a path names: `{id}` after `schedules` is the id of a schedule. */
function pathParameterText(path: string, name: string): string {
  const segments = path.split('/');
  const at = segments.findIndex((segment) => segment.includes(`{${name}}`));
  const owner = (segments[at - 1] ?? '').replaceAll('-', ' ');
  const one = owner.endsWith('ies') ? `${owner.slice(0, -3)}y` : owner.replace(/s$/, '');
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const known = words === 'id' ? `Id of the ${one}` : words === 'name' ? `Name of the ${one}` : undefined;
  return known ?? words.charAt(0).toUpperCase() + words.slice(1);
}
