import { type RequestOptions, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { concrete, keyOf, type Locked, type Name, names, startLocked } from './security.suite.ts';

const nested = (open: string, close: string, levels = 100_000) =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;
const deepObject = nested('{"a":', '}');

/** What no route takes, wherever it reads a body at all. */
const malformed: Record<string, string> = {
  'JSON that breaks off': '{"a":',
  'an object of 100000 levels': deepObject,
  'bytes that are no text': '\u0000\u0001\ufffe',
};
/** JSON that some route might take; it must do no harm. */
const odd: Record<string, string> = {
  'nothing at all': '',
  null: 'null',
  'an empty list': '[]',
  'a lonely half of a letter': '{"a":"\\ud800","text":"\\ud800","name":"\\ud800"}',
  'fields that would change every object':
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
};

/** Only tells a hang from a busy machine. */
const HANGS_MS = 50_000;

/** Takes no body, so that whatever comes is left unread. */
const bodyless = ['POST /api/delegates/reload', 'POST /api/skills/reload', 'POST /api/users/reload'];
/** JSON-RPC tells of its errors in an answer of status 200. */
const rpc = 'POST /a2a';

let locked: Locked;
beforeAll(async () => {
  locked = await startLocked();
});
afterAll(() => locked.stop());

const writing = (name: Name) =>
  locked
    .target(name)
    .routes()
    .filter(({ method }) => ['POST', 'PUT', 'PATCH', 'ALL'].includes(method))
    .map(({ method, path }) => ({
      route: `${method} ${path}`,
      method: method === 'ALL' ? 'POST' : method,
      path,
    }));

async function send(name: Name, method: string, path: string, body: string, type = 'application/json') {
  const { url } = locked.target(name);
  const headers = {
    'content-type': type,
    'a2a-version': '1.0',
    accept: 'application/json, text/event-stream',
    ...keyOf(name, path),
  };
  return await sendAlone(url + concrete(path), { method, headers }, body);
}

/**
 * On a connection of its own. The adaptor closes one whose body a route left unread half a second after the answer, and a
 * request that shares it could meet that; an answer that is cut off still fails the test.
 */
function sendAlone(
  url: string,
  options: RequestOptions,
  body: string,
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const signal = AbortSignal.timeout(HANGS_MS);
  const outgoing = request(url, { ...options, agent: false, signal }, (response) => {
    text(response).then((words) => resolve({ status: response.statusCode ?? 0, text: words }), reject);
  });
  outgoing.on('error', reject).end(body);
  return promise;
}

describe.each(names)('%s', (name) => {
  it.each(Object.entries(malformed))('refuses %s at every route', async (_, body) => {
    const wrong = writing(name).map(async ({ route, method, path }) => {
      const { status, text } = await send(name, method, path, body);
      const isRefused = route === rpc ? text.includes('"error"') : status >= 400 && status < 500;
      return isRefused || bodyless.includes(route)
        ? []
        : [`${route} answered ${status}: ${text.slice(0, 200)}`];
    });
    expect((await Promise.all(wrong)).flat()).toEqual([]);
  });

  it.each(Object.entries(odd))('survives %s at every route', async (_, body) => {
    const wrong = writing(name).map(async ({ route, method, path }) => {
      const { status, text } = await send(name, method, path, body);
      return status < 500 ? [] : [`${route} answered ${status}: ${text.slice(0, 200)}`];
    });
    expect((await Promise.all(wrong)).flat()).toEqual([]);
    expect('polluted' in {}).toBe(false);
  });

  it('refuses a form that is none', async () => {
    for (const { route, method, path } of writing(name)) {
      const { status } = await send(name, method, path, '--x\r\nno form', 'multipart/form-data; boundary=y');
      expect({ route, failed: status >= 500 }).toEqual({ route, failed: false });
    }
  });

  it('refuses a body by its length alone, before it is sent', async () => {
    const wrong: string[] = [];
    for (const { route, method, path } of writing(name)) {
      const status = await announce(locked.target(name).url, method, concrete(path), keyOf(name, path));
      if (status !== 413 && !(route === 'POST /publish' && status === 400)) wrong.push(`${route}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('answers as before after all that', async () => {
    expect((await fetch(`${locked.target(name).url}/healthz`)).status).toBe(200);
    const failures = locked.log.filter((line) => line.includes('"level":"error"'));
    expect(failures).toEqual([]);
  });
});

/** Bodies that are right but for one value, which reaches the stores, the bus or the model. */
const inside: [Name, string, (value: string) => string][] = [
  [
    'switchboard',
    'POST /publish',
    (value) => `{"topic":"message.inbound.cli","payload":{"content":${value}}}`,
  ],
  ['switchboard', 'POST /api/schedules', (value) => `{"id":"x","schedule":"0 9 * * *","payload":${value}}`],
  ['switchboard', 'POST /v1/chat/completions', chat],
  ['agent', 'PUT /api/notes/workspace', (value) => `{"tabs":${value},"version":1}`],
  [
    'agent',
    'PATCH /api/config',
    (value) => `{"changes":[{"op":"set","path":["model","name"],"value":${value}}]}`,
  ],
  ['agent', 'POST /v1/chat/completions', chat],
  ['agent', 'POST /message:send', message],
  ['research', 'POST /v1/chat/completions', chat],
  ['research', 'POST /message:send', message],
  ['voice', 'POST /message:send', message],
  ['voice', 'POST /a2a/callback', (value) => `{"task":{"artifacts":[{"parts":[${value}]}]}}`],
];

function chat(value: string): string {
  return `{"model":"m","messages":[{"role":"user","content":${value}}]}`;
}

function message(value: string): string {
  return `{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"data":${value}}],"metadata":{"a":${value}}}}`;
}

it.each(inside)('%s refuses a value of 100000 levels in %s', async (name, route, body) => {
  const [method = '', path = ''] = route.split(' ');
  const { status } = await send(name, method, path, body(deepObject));
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
});

it.each(inside)('%s survives a value of 250 levels in %s', async (name, route, body) => {
  const [method = '', path = ''] = route.split(' ');
  const { status } = await send(name, method, path, body(nested('{"a":', '}', 250)));
  expect(status).toBeLessThan(500);
});

it.each(names)('%s cuts off a body without a length that never ends', async (name) => {
  const path = {
    voice: '/api/verbosity',
    agent: '/api/chat',
    research: '/api/chat',
    switchboard: '/publish',
  }[name];
  const piece = new Uint8Array(256 * 1024).fill(32);
  let sent = 0;
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A turn of the event loop for each piece: nothing here can keep the service from its refusal.
      await immediate();
      sent += piece.byteLength;
      // Node's fetch reads on after the refusal, and would take a whole core from all tests that follow.
      if (isOver) controller.close();
      else controller.enqueue(piece);
    },
  });
  const headers = { 'content-type': 'application/json', ...keyOf(name, path) };
  const init = { method: 'POST', headers, body: endless, duplex: 'half' } as RequestInit;
  const outcome = await fetch(locked.target(name).url + path, {
    ...init,
    signal: AbortSignal.timeout(HANGS_MS),
  }).then(
    ({ status }) => (status === 413 || status === 400 ? 'refused' : `answered ${status}`),
    (error: Error) => (error.name === 'TimeoutError' ? 'went on' : 'refused'),
  );
  expect(outcome).toBe('refused');
  expect((await fetch(`${locked.target(name).url}/healthz`)).status).toBe(200);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

/** Says that 300 MB will come, and sends none of them. */
function announce(url: string, method: string, path: string, key: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(url);
  const headers = { 'content-type': 'application/json', 'content-length': String(300 * 1024 * 1024), ...key };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      resolve(response.statusCode ?? 0);
      sent.destroy();
    });
    sent.once('error', reject).setTimeout(HANGS_MS, () => sent.destroy(new Error(`${method} ${path} hangs`)));
    sent.flushHeaders();
  });
}
