import { HTTPException } from 'hono/http-exception';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Logger } from '../app/context.ts';
import { eventually, rawClient, startApp } from '../fixtures/test-kit.ts';
import { ValidationError, validate } from '../validation/validate.ts';
import { defineErrors, HttpError, type RenderError } from './http-error.ts';

const errors = defineErrors({
  peer_unknown: [404, 'Peer connection not found'],
  busy: [503, 'The model is busy.'],
});

const voice: RenderError = (error) => {
  if (error instanceof ValidationError) return { status: 422, body: { detail: error.issues } };
  if (error.code === 'route_not_found') return { body: { error: 'not found' } };
  return { body: { detail: error.message } };
};
const research: RenderError = (error) => ({ body: { error: error.message } });
const switchboard: RenderError = (error) => ({ body: { success: false, error: error.message } });

async function ask(renderError: RenderError, path: string, init: RequestInit = {}) {
  const server = await startApp(
    (app) => {
      app.get('/peer', () => {
        throw errors.peer_unknown();
      });
      app.post('/level', validate('json', z.object({ level: z.string() })), (c) =>
        c.json(c.req.valid('json')),
      );
    },
    { renderError },
  );
  const response = await fetch(server.url + path, init);
  return { status: response.status, body: await response.json() };
}

const post = (body: string): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json' },
});

it('shows no secret that the log hides, whatever an error quotes', async () => {
  const nothing = () => undefined;
  const logger: Logger = {
    ...{ debug: nothing, info: nothing, warn: nothing, error: nothing },
    child: () => logger,
    hide: (text, brought) =>
      ['sesame', 'null', '502']
        .filter((secret) => !brought.includes(secret))
        .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text),
  };
  const said: RenderError = (error) => ({
    body: { message: error.message, status: error.status, param: null },
  });
  const server = await startApp(
    (app) => {
      app.get('/model', () => {
        throw new HttpError('upstream', 502, 'The model says: key sesame is wrong.');
      });
      app.post('/echo/:name', async (c) => {
        const { text } = JSON.parse(await c.req.text());
        throw new HttpError('upstream', 502, `${c.req.param('name')} ${c.req.header('x-a')} ${text}`);
      });
    },
    { logger, renderError: said },
  );
  const messageOf = async (path: string, init: RequestInit = {}) =>
    ((await (await fetch(server.url + path, init)).json()) as { message: string }).message;
  expect(await (await fetch(`${server.url}/model`)).json()).toEqual({
    message: 'The model says: key [redacted] is wrong.',
    ...{ status: 502, param: null },
  });
  // Whatever the request brings comes back as it came: else one could guess secrets by what is hidden.
  expect(await messageOf('/guess/sesame')).toBe('There is nothing at GET /guess/sesame.');
  const echoed = { ...post('{"text":"x"}'), headers: { ...post('').headers, 'x-a': 'b' } };
  expect(await messageOf('/echo/%73esame', echoed)).toBe('sesame b x');
  expect(await messageOf('/echo/a', { ...echoed, headers: { ...echoed.headers, 'x-a': 'sesame' } })).toBe(
    'a sesame x',
  );
  expect(await messageOf('/echo/a', { ...echoed, body: '{"text":"\\u0073esame"}' })).toBe('a b sesame');
});

describe('error answers in the shape of each contract', () => {
  it.each([
    ['voice', voice, { detail: 'Peer connection not found' }],
    ['research', research, { error: 'Peer connection not found' }],
    ['switchboard', switchboard, { success: false, error: 'Peer connection not found' }],
  ])('%s', async (_name, render, body) => {
    expect(await ask(render, '/peer')).toEqual({ status: 404, body });
  });

  it('voice answers an unknown path in other words than an unknown thing', async () => {
    expect(await ask(voice, '/nowhere')).toEqual({ status: 404, body: { error: 'not found' } });
  });

  it('voice answers a missing field and broken JSON with 422 and a list of places', async () => {
    const missing = { detail: [{ loc: ['body', 'level'], msg: 'This field is required.' }] };
    expect(await ask(voice, '/level', post('{}'))).toEqual({ status: 422, body: missing });
    const broken = { detail: [{ loc: ['body'], msg: 'The body is not valid JSON.' }] };
    expect(await ask(voice, '/level', post('{"level"'))).toEqual({ status: 422, body: broken });
  });

  it('switchboard answers the same with 400 and one sentence', async () => {
    const body = { success: false, error: 'body: The body is not valid JSON.' };
    expect(await ask(switchboard, '/level', post('{"level"'))).toEqual({ status: 400, body });
  });
});

describe('the error wrapper', () => {
  it('hides what an unknown failure says, names the request id and logs the cause once', async () => {
    const server = await startApp((app) => {
      app.get('/boom', () => {
        throw new Error('password is hunter2');
      });
    });
    const response = await fetch(`${server.url}/boom`, { headers: { 'x-request-id': 'abc-1' } });
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).toContain('abc-1');
    expect(text).not.toContain('hunter2');
    const logged = server.lines.filter((line) => line.message === 'request failed');
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ level: 'error', fields: { requestId: 'abc-1', code: 'internal' } });
    expect(String(logged[0]?.fields.err)).toContain('hunter2');
  });

  it('handles a thrown value that is no Error', async () => {
    const server = await startApp((app) => {
      app.get('/boom', () => {
        throw 'a string';
      });
    });
    const response = await fetch(`${server.url}/boom`);
    expect(response.status).toBe(500);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await response.json()).toMatchObject({ code: 'internal' });
  });

  it('warns of a known server failure and sends its headers', async () => {
    const server = await startApp((app) => {
      app.get('/busy', () => {
        throw errors.busy({ headers: { 'retry-after': '7' }, cause: new Error('429') });
      });
    });
    const response = await fetch(`${server.url}/busy`);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(server.lines.filter((line) => line.level === 'warn')).toHaveLength(1);
  });

  it("renders Hono's own exceptions", async () => {
    const server = await startApp((app) => {
      app.get('/tea', () => {
        throw new HTTPException(418, { message: 'short and stout' });
      });
    });
    const response = await fetch(`${server.url}/tea`);
    expect(response.status).toBe(418);
    expect(await response.json()).toEqual({ code: 'http_exception', message: 'short and stout' });
  });

  it('does not call a client that went away in mid-body a failure', async () => {
    let started = false;
    const server = await startApp((app) => {
      app.post('/upload', async (c) => {
        started = true;
        return c.text(await c.req.text());
      });
    });
    const client = await rawClient(server.port);
    client.write('POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf');
    await eventually(() => expect(started).toBe(true));
    client.socket.destroy();
    await eventually(() => expect(server.lines.find((line) => line.fields.status === 499)).toBeDefined());
    expect(server.lines.filter((line) => line.level === 'error')).toEqual([]);
  });
});

describe('catalogue', () => {
  const errors = defineErrors({
    peer_unknown: [404, 'Peer connection not found'],
    skill_refused: [
      403,
      (skill: { slug: string; user: string }) => `skill '${skill.slug}' not for '${skill.user}'`,
    ],
  });

  describe('defineErrors', () => {
    it('makes an error with code, status and fixed words', () => {
      const error = errors.peer_unknown();
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({
        code: 'peer_unknown',
        status: 404,
        message: 'Peer connection not found',
      });
    });

    it('makes the words from arguments', () => {
      expect(errors.skill_refused({ slug: 'cook', user: 'ann' }).message).toBe("skill 'cook' not for 'ann'");
    });

    it('carries details, headers and the cause', () => {
      const cause = new Error('disk');
      const error = errors.peer_unknown({ details: [1], headers: { 'retry-after': '5' }, cause });
      expect(error).toMatchObject({ details: [1], headers: { 'retry-after': '5' }, cause });
    });

    it('tells code and status without making an error', () => {
      expect(errors.skill_refused.code).toBe('skill_refused');
      expect(errors.skill_refused.status).toBe(403);
    });
  });
});
