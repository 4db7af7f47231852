import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startApp } from '../fixtures/test-kit.ts';
import { parseJson, readJson, ValidationError, validate } from './validate.ts';

const renderError = (error: Error) => ({
  body:
    error instanceof ValidationError
      ? { code: error.code, issues: error.issues }
      : { message: error.message },
});

async function start() {
  return startApp(
    (app) => {
      app.post(
        '/json',
        validate('json', z.object({ level: z.enum(['a', 'b']), tags: z.array(z.string()).optional() })),
        (c) => c.json(c.req.valid('json')),
      );
      app.post('/maybe', validate('json', z.object({ a: z.string() }).optional()), (c) =>
        c.json({ given: c.req.valid('json') ?? null }),
      );
      app.get(
        '/query',
        validate(
          'query',
          z.object({ limit: z.coerce.number().int().max(9).default(5), tag: z.array(z.string()).optional() }),
        ),
        (c) => c.json(c.req.valid('query')),
      );
      app.get(
        '/items/:id',
        validate('param', z.object({ id: z.string().regex(/^\d+$/, 'must be a number') })),
        (c) => c.json(c.req.valid('param')),
      );
      app.post(
        '/form',
        validate('form', z.object({ slug: z.string(), audio: z.file().optional() })),
        async (c) => {
          const { slug, audio } = c.req.valid('form');
          return c.json({ slug, audio: (await audio?.text()) ?? null });
        },
      );
      app.post('/own', async (c) => c.json({ got: (await readJson(c.req)) ?? null }));
    },
    { renderError },
  );
}

async function send(path: string, init: RequestInit = {}) {
  const server = await start();
  const response = await fetch(server.url + path, init);
  return { status: response.status, body: await response.json() };
}

const post = (body: BodyInit, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body,
  headers,
});

describe('validate', () => {
  it('hands over what fits and drops what is not asked for', async () => {
    const answer = await send('/json', post('{"level":"a","tags":["x"],"extra":1}'));
    expect(answer).toEqual({ status: 200, body: { level: 'a', tags: ['x'] } });
  });

  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded'])(
    'reads JSON sent as %s',
    async (type) => {
      expect(await send('/json', post('{"level":"a"}', { 'content-type': type }))).toMatchObject({
        status: 200,
      });
    },
  );

  it('names the place of every fault', async () => {
    const answer = await send('/json', post('{"level":"z","tags":["x",5]}'));
    expect(answer).toEqual({
      status: 400,
      body: {
        code: 'validation_failed',
        issues: [
          { loc: ['body', 'level'], msg: expect.stringContaining('"a"|"b"') },
          { loc: ['body', 'tags', 1], msg: expect.stringContaining('expected string') },
        ],
      },
    });
  });

  it('tells broken JSON, and text that is none, from a fault in it', async () => {
    for (const body of ['{"level":', 'hello', '\u0000']) {
      expect(await send('/json', post(body))).toMatchObject({
        status: 400,
        body: { code: 'malformed_json' },
      });
    }
  });

  it('asks for a body that is missing, unless the schema does not', async () => {
    const missing = {
      code: 'validation_failed',
      issues: [{ loc: ['body'], msg: 'This field is required.' }],
    };
    expect(await send('/json', { method: 'POST' })).toEqual({ status: 400, body: missing });
    expect(await send('/maybe', { method: 'POST' })).toEqual({ status: 200, body: { given: null } });
  });

  it('reads queries, with defaults, numbers and repeated names', async () => {
    expect(await send('/query')).toEqual({ status: 200, body: { limit: 5 } });
    expect(await send('/query?limit=7&tag=a&tag=b')).toEqual({
      status: 200,
      body: { limit: 7, tag: ['a', 'b'] },
    });
    expect(await send('/query?limit=10')).toMatchObject({
      status: 400,
      body: { issues: [{ loc: ['query', 'limit'] }] },
    });
  });

  it('checks path parameters', async () => {
    expect(await send('/items/42')).toEqual({ status: 200, body: { id: '42' } });
    const body = { issues: [{ loc: ['path', 'id'], msg: 'must be a number' }] };
    expect(await send('/items/x')).toMatchObject({ status: 400, body });
  });

  it('reads forms with files', async () => {
    const form = new FormData();
    form.set('slug', 'me');
    form.set('audio', new File(['RIFF'], 'a.wav'));
    expect(await send('/form', post(form))).toEqual({ status: 200, body: { slug: 'me', audio: 'RIFF' } });
    expect(await send('/form', post(new URLSearchParams({ slug: 'me' })))).toMatchObject({ status: 200 });
    expect(await send('/form', post(new FormData()))).toMatchObject({
      status: 400,
      body: { issues: [{ loc: ['body', 'slug'], msg: 'This field is required.' }] },
    });
  });

  it('says so when a form cannot be read', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const answer = await send('/form', post('no boundary here', headers));
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_form' } });
  });
});

describe('readJson', () => {
  it('serves handlers that check for themselves', async () => {
    expect(await send('/own', post('[1]'))).toEqual({ status: 200, body: { got: [1] } });
    expect(await send('/own', { method: 'POST' })).toEqual({ status: 200, body: { got: null } });
    expect(await send('/own', post('['))).toMatchObject({ status: 400, body: { code: 'malformed_json' } });
  });
});

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

it('reads whatever JSON there is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

it('takes 256 levels and no more, whatever they are made of', () => {
  expect(parseJson(nested(256))).toHaveLength(1);
  expect(() => parseJson(nested(257))).toThrow('nested deeper than 256 levels');
  expect(() => parseJson(nested(100_000))).toThrow(SyntaxError);
  expect(() => parseJson(`${'{"a":'.repeat(257)}1${'}'.repeat(257)}`)).toThrow('nested deeper');
  expect(parseJson(`[${'[[]],'.repeat(500)}1]`)).toHaveLength(501);
});

it('does not count what stands in strings', () => {
  const brackets = '['.repeat(1000);
  expect(parseJson(JSON.stringify({ a: brackets, b: `\\"${brackets}\\` }))).toEqual({
    a: brackets,
    b: `\\"${brackets}\\`,
  });
  expect(() => parseJson(`["\\\\",${nested(257)}]`)).toThrow('nested deeper');
});

it('throws at what is no JSON', () => {
  for (const text of ['', '{', `"${'x'.repeat(300)}`, `${'\\'.repeat(300)}"`, nested(200).slice(1)])
    expect(() => parseJson(text)).toThrow(SyntaxError);
});
