import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callerGuard, createKeyring } from '../callers/caller-guard.ts';
import { defineErrors } from '../errors/http-error.ts';
import { startApp, type TestCaller } from '../fixtures/test-kit.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { ValidationError, validate } from '../validation/validate.ts';
import { describeRoute } from './describe-route.ts';
import type { Schema, SchemaOrReference } from './examples.ts';
import { schemaText } from './page.ts';

const errors = defineErrors({
  skill_unknown: [404, 'unknown skill'],
  skill_gone: [404, 'skill is gone'],
  skill_locked: [409, 'skill is locked'],
});
const keyring = createKeyring<TestCaller>([{ key: 'k', caller: { id: 'me' } }]);

async function start() {
  return startApp(
    (app) => {
      app.use('/api/*', callerGuard({ keyring, except: ['/api/events'] }));
      app.use('/api/admin/*', callerGuard({ keyring, credentials: ['bearer'] }));
      app.post(
        '/api/skills',
        describeRoute({
          summary: 'Chooses a skill <now>',
          tags: ['skills'],
          status: 201,
          response: z.object({ active: z.string() }),
          errors: [errors.skill_unknown, errors.skill_gone, errors.skill_locked],
        }),
        validate('json', z.object({ slug: z.string().min(2).describe('the short name') })),
        (c) => c.json({ active: c.req.valid('json').slug }),
      );
      app.get(
        '/api/items/:id',
        validate('param', z.object({ id: z.string() })),
        validate('query', z.object({ limit: z.coerce.number().int().max(50).optional() })),
        (c) => c.json({}),
      );
      app.post('/api/admin/clone', validate('form', z.object({ audio: z.file() })), (c) => c.text(''));
      app.get('/api/events', (c) => c.text(''));
      app.post('/api/tasks/:id{[^/]+:cancel}', (c) => c.text(''));
      app.get('/.well-known/agent-card.json', (c) => c.json({}));
    },
    {
      service: 'voice',
      version: '2.0.0',
      description: 'Talks & listens.',
      metrics: createMetrics({ prefix: 'voice' }),
      renderError: (error) =>
        error instanceof ValidationError
          ? { status: 422, body: { detail: error.issues } }
          : { body: { detail: error.message } },
    },
  );
}

async function document() {
  const server = await start();
  return (await fetch(`${server.url}/openapi.json`)).json();
}

describe('/openapi.json', () => {
  it('describes every route, described or not, but not itself, and without the patterns of parameters', async () => {
    const spec = await document();
    expect(spec).toMatchObject({ openapi: '3.1.0', info: { title: 'voice', version: '2.0.0' } });
    expect(Object.keys(spec.paths).sort()).toEqual([
      '/.well-known/agent-card.json',
      '/api/admin/clone',
      '/api/events',
      '/api/items/{id}',
      '/api/skills',
      '/api/tasks/{id}:cancel',
      '/healthz',
      '/metrics',
    ]);
  });

  it('has bodies, parameters and answers from the schemas', async () => {
    const { paths } = await document();
    const skills = paths['/api/skills'].post;
    expect(skills.summary).toBe('Chooses a skill <now>');
    expect(skills.requestBody.content['application/json'].schema).toMatchObject({
      properties: { slug: { type: 'string', minLength: 2 } },
      required: ['slug'],
    });
    expect(skills.responses['201'].content['application/json'].schema.properties).toEqual({
      active: { type: 'string' },
    });
    expect(paths['/api/items/{id}'].get.parameters).toMatchObject([
      { in: 'path', name: 'id', required: true },
      { in: 'query', name: 'limit', schema: { type: 'integer', maximum: 50 } },
    ]);
    expect(
      paths['/api/admin/clone'].post.requestBody.content['multipart/form-data'].schema.properties.audio,
    ).toMatchObject({
      format: 'binary',
    });
  });

  it('names errors by code, and bad input as the service really answers it', async () => {
    const { responses } = (await document()).paths['/api/skills'].post;
    expect(responses['404'].description).toBe('skill_unknown, skill_gone');
    expect(responses['409'].description).toBe('skill_locked');
    expect(responses['422'].content['application/json'].example).toEqual({
      detail: [{ loc: ['body', 'field'], msg: 'This field is required.' }],
    });
    expect(responses['400']).toBeUndefined();
  });

  it('says which keys open a route: one of several, or several at once, or none', async () => {
    const { paths, components } = await document();
    expect(components.securitySchemes).toMatchObject({
      bearer: { scheme: 'bearer' },
      'x-api-key': { name: 'X-API-Key' },
    });
    expect(paths['/api/skills'].post.security).toEqual([{ 'x-api-key': [] }, { bearer: [] }]);
    expect(paths['/api/skills'].post.responses['401']).toBeDefined();
    expect(paths['/api/admin/clone'].post.security).toEqual([
      { 'x-api-key': [], bearer: [] },
      { bearer: [] },
    ]);
    expect(paths['/api/events'].get.security).toBeUndefined();
    expect(paths['/healthz'].get.security).toBeUndefined();
  });

  it('gives every answer a description, as the standard asks', async () => {
    const { paths } = await document();
    const operations = Object.values<object>(paths).flatMap((item) => Object.values(item));
    for (const operation of operations) {
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true);
      for (const response of Object.values<{ description: string }>(operation.responses))
        expect(response.description).not.toBe('');
    }
    expect(JSON.stringify(paths)).not.toContain('x-guards');
  });
});

describe('/docs', () => {
  it('shows routes, parameters, bodies, answers and errors, with everything escaped', async () => {
    const server = await start();
    const response = await fetch(`${server.url}/docs`);
    const html = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const text of [
      'Talks &amp; listens.',
      '/api/items/{id}',
      'limit',
      'the short name',
      'skill_locked',
      '422',
    ]) {
      expect(html).toContain(text);
    }
    expect(html).toContain('Chooses a skill &lt;now&gt;');
  });

  it('needs nothing but files of its own, and its policy says so', async () => {
    const server = await start();
    const response = await fetch(`${server.url}/docs`);
    const html = await response.text();
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'");
    expect(html).not.toMatch(/<script(?! src="\/docs\/)|style=|<style|onclick|(src|href)="https?:/);
    const sheet = /href="([^"]+\.css)"/.exec(html)?.[1];
    const style = await fetch(server.url + sheet);
    expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(await style.text()).toContain('color-scheme: light dark');
    for (const file of ['page.js', 'boot.js', 'icon.svg', 'sans.woff2', 'mono.woff2'])
      expect([file, (await fetch(`${server.url}/docs/${file}`)).status]).toEqual([file, 200]);
    for (const name of ['nothing.js', '__proto__', 'constructor'])
      expect([name, (await fetch(`${server.url}/docs/${name}`)).status]).toEqual([name, 404]);
  });

  it('has an anchor for every entry of its list', async () => {
    const server = await start();
    const html = await (await fetch(`${server.url}/docs`)).text();
    const targets = [...html.matchAll(/<li><a href="#([^"]+)"/g)].map(([, id]) => id);
    expect(targets.length).toBe(8);
    for (const id of targets) expect(html).toContain(`<section id="${id}"`);
  });
});

describe('schemaText', () => {
  const text = (schema: z.ZodType) =>
    schemaText(z.toJSONSchema(schema, { unrepresentable: 'any' }) as Schema, {});

  it.each([
    [z.string(), 'string'],
    [z.string().min(2).max(64), 'string 2 to 64'],
    [z.number().min(1), 'number from 1'],
    [z.number().max(9), 'number up to 9'],
    [z.int(), 'integer'],
    [z.enum(['a', 'b']), '"a" | "b"'],
    [z.array(z.enum(['a', 'b'])), '("a" | "b")[]'],
    [z.literal(3), '3'],
    [z.union([z.string(), z.null()]), 'string | null'],
    [z.object({}), '{}'],
    [z.record(z.string(), z.number()), '{\n  [name]: number\n}'],
    [z.object({ a: z.object({ b: z.string().optional() }) }), '{\n  a: {\n    b?: string\n  }\n}'],
    [z.unknown(), 'any'],
  ])('case %#', (schema, expected) => {
    expect(text(schema)).toBe(expected);
  });

  it('follows references, and stops in those that lead back to themselves', () => {
    const schemas = {
      Tree: { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' } } },
    } as const satisfies Record<string, SchemaOrReference>;
    expect(schemaText({ $ref: '#/components/schemas/Tree' }, schemas)).toContain('child?: any');
    expect(schemaText({ $ref: '#/components/schemas/Unknown' }, schemas)).toBe('Unknown');
  });
});
