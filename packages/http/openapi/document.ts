import type { Hono } from 'hono';
import { generateSpecs } from 'hono-openapi';
import type { AppEnv } from '../app/context.ts';
import type { RenderError } from '../errors/render.ts';
import { ValidationError } from '../validation/validation-error.ts';
import { applyGuards, SECURITY_SCHEMES } from './security.ts';
import type { ApiDocument, Operation, ResponseDescription } from './types.ts';

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
