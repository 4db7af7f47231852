import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concrete, keyOf, type Locked, type Name, names, startLocked } from '../security/security.suite.ts';

interface Content {
  [type: string]: { schema?: unknown; example?: unknown };
}

interface Operation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  parameters?: { name: string; in: string; schema?: unknown; description?: string; example?: unknown }[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

interface Document {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
}

let locked: Locked;
beforeAll(async () => {
  locked = await startLocked();
});
afterAll(() => locked.stop());

async function read(name: Name): Promise<Document> {
  const { url } = locked.target(name);
  const response = await fetch(`${url}/openapi.json`, { headers: keyOf(name, '/openapi.json') });
  expect(response.status).toBe(200);
  return (await response.json()) as Document;
}

/** What the description of a route lacks. */
function gaps(method: string, path: string, operation: Operation): string[] {
  const { summary = '', tags = [], parameters = [], requestBody, responses } = operation;
  const success = Object.entries(responses).find(([status]) => /^[23]/.test(status));
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => each);
  const named = parameters.filter((each) => each.in === 'path');
  const content = Object.values(success?.[1].content ?? {});
  const isEmpty = success?.[0] === '204' || success?.[0].startsWith('3');
  const findings: [string, boolean][] = [
    ['summary', summary.length > 5],
    ['tag', tags.length > 0],
    ['path parameters', named.map((each) => each.name).join() === inPath.join()],
    ['example of a path parameter', named.every((each) => each.example !== undefined)],
    ['schema of a parameter', parameters.every((each) => each.schema !== undefined)],
    ['text of a path parameter', named.every((each) => (each.description ?? '') !== '')],
    [
      'example of the body',
      Object.values(requestBody?.content ?? {}).every((each) => each.example !== undefined),
    ],
    ['example of the answer', isEmpty || content.some((each) => each.example !== undefined)],
    ['body', method !== 'put' || requestBody !== undefined],
  ];
  return findings.filter(([, isThere]) => !isThere).map(([what]) => `${method} ${path}: ${what}`);
}

describe.each(names)('/openapi.json of %s', (name) => {
  it('has a summary, a group, parameters and an example for every route', async () => {
    const { paths } = await read(name);
    const lacking = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => gaps(method, path, operation)),
    );
    expect(lacking).toEqual([]);
  });

  it('has every route that answers', async () => {
    const { paths } = await read(name);
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, 'nobody')}`,
      ),
    );
    const own = /^\w+ \/(docs|help|openapi\.json)/;
    const answering = locked
      .target(name)
      .routes()
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${concrete(path)}`)
      .filter((route) => !own.test(route) && !/^(PUT|PATCH) \/mcp$/.test(route));
    expect(answering.filter((route) => !described.includes(route))).toEqual([]);
  });

  it('is valid OpenAPI 3.1, with operation ids that occur once', async () => {
    const document = await read(name);
    const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

it('names the query of routes that read it themselves', async () => {
  const { paths } = await read('agent');
  const queryOf = (path: string) =>
    paths[path]?.get?.parameters?.flatMap(({ name, in: place }) => (place === 'query' ? name : []));
  expect(queryOf('/oauth/authorize')).toEqual(
    expect.arrayContaining(['client_id', 'redirect_uri', 'response_type', 'code_challenge', 'state']),
  );
  expect(queryOf('/oauth/mcp/callback')).toEqual(['state', 'code', 'error', 'error_description']);
});

it('has no example of a route that is gone', async () => {
  const documents = await Promise.all(names.map(read));
  const routes = new Set(
    documents.flatMap(({ paths }) =>
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    ),
  );
  const root = join(import.meta.dirname, '../../..');
  const files = ['packages/http/openapi', ...names.map((name) => `apps/${name}/routes`)];
  const listed = files.flatMap((folder) =>
    Object.keys(JSON.parse(readFileSync(join(root, folder, 'examples.json'), 'utf8')) as object),
  );
  expect(listed.filter((route) => !routes.has(route))).toEqual([]);
});
