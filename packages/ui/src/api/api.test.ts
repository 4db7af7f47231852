import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { sendJson, startService, type TestService } from '../../fixtures/testServer.ts';
import { ApiError, type ApiOptions, createApi } from './api.ts';

let service: TestService | undefined;

afterEach(async () => {
  await service?.stop();
  service = undefined;
});

async function apiFor(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<ApiOptions> = {},
) {
  service = await startService(answer);
  const noKey: ApiOptions = { scheme: 'api-key', readKey: () => null, askKey: async () => null };
  return createApi({ ...noKey, ...options, origin: service.url });
}

async function failureOf(request: Promise<unknown>): Promise<ApiError> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`Expected an ApiError, got ${String(error)}`);
  return error;
}

describe('a request', () => {
  it('gets the body of the answer', async () => {
    const api = await apiFor((request, response) => sendJson(response, 200, { path: request.url }));
    expect(await api.request('/api/tasks?state=live')).toEqual({ path: '/api/tasks?state=live' });
  });

  it('sends JSON by POST unless told otherwise', async () => {
    const api = await apiFor((request, response) => {
      let text = '';
      request.on('data', (piece: Buffer) => {
        text += piece.toString();
      });
      request.on('end', () =>
        sendJson(response, 200, { method: request.method, type: request.headers['content-type'], text }),
      );
    });
    expect(await api.request('/api/notes', { body: { name: 'a' } })).toEqual({
      method: 'POST',
      type: 'application/json',
      text: '{"name":"a"}',
    });
    expect(await api.request('/api/notes', { method: 'DELETE' })).toMatchObject({
      method: 'DELETE',
      text: '',
    });
  });

  it('gives nothing for an empty answer, and text for what is not JSON', async () => {
    const api = await apiFor((request, response) => {
      if (request.url === '/empty') response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('plain');
    });
    expect(await api.request('/empty')).toBe('');
    expect(await api.request('/text')).toBe('plain');
  });

  it.each([
    ['api-key', 'x-api-key', 'secret'],
    ['bearer', 'authorization', 'Bearer secret'],
  ] as const)('sends the key by %s', async (scheme, header, value) => {
    const api = await apiFor((request, response) => sendJson(response, 200, request.headers[header]), {
      scheme,
      readKey: () => 'secret',
    });
    expect(await api.request('/')).toBe(value);
  });
});

describe('a failure', () => {
  it.each([
    [
      { error: { code: 'SKILL_UNKNOWN', message: 'There is no skill called tutor.' } },
      'SKILL_UNKNOWN',
      'There is no skill called tutor.',
    ],
    [{ error: 'unknown slug' }, 'REQUEST_REFUSED', 'unknown slug'],
    [{ detail: 'not in allowed_skills' }, 'REQUEST_REFUSED', 'not in allowed_skills'],
    [{}, 'REQUEST_REFUSED', 'The service refused this request.'],
  ])('speaks in the words of the service: %j', async (body, code, message) => {
    const api = await apiFor((_request, response) => sendJson(response, 422, body));
    expect(await failureOf(api.request('/'))).toMatchObject({ status: 422, code, message, body });
  });

  it('advises to look again when things have changed meanwhile', async () => {
    const api = await apiFor((_request, response) =>
      sendJson(response, 409, { error: 'Undo the later one first.' }),
    );
    const error = await failureOf(api.request('/'));
    expect(error).toMatchObject({ status: 409, message: 'Undo the later one first.' });
    expect(error.advice).toContain('Reload the page');
  });

  it('says in plain words that nobody answers, without the address', async () => {
    const api = await apiFor((request) => request.destroy());
    const error = await failureOf(api.request('/api/tasks'));
    expect(error).toMatchObject({ status: 0, code: 'UNREACHABLE' });
    expect(error.message).toBe('The service does not answer.');
    expect(error.advice).toContain('Check that the service runs');
  });

  it('says that an answer took too long', async () => {
    const api = await apiFor(() => undefined);
    expect(await failureOf(api.request('/', { timeLimitMs: 20 }))).toMatchObject({
      code: 'TIMEOUT',
      message: 'The service took too long to answer.',
    });
  });

  it('says that an answer could not be read', async () => {
    const api = await apiFor((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"half":');
    });
    expect(await failureOf(api.request('/'))).toMatchObject({ code: 'UNREADABLE' });
  });

  it('is an answer where the caller accepts the status', async () => {
    const api = await apiFor((_request, response) => sendJson(response, 503, { ok: false }));
    expect(await api.request('/healthz', { accept: [503] })).toEqual({ ok: false });
  });

  it('stays an abort when the caller aborted', async () => {
    const api = await apiFor(() => undefined);
    const leaving = new AbortController();
    const request = api.request('/', { signal: leaving.signal });
    leaving.abort();
    await expect(request).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a 401', () => {
  const wantsKey = (request: IncomingMessage, response: ServerResponse) => {
    const right = request.headers['x-api-key'] === 'right';
    sendJson(response, right ? 200 : 401, right ? 'let in' : { detail: 'unknown or missing api key' });
  };

  it('asks for a key until one is accepted', async () => {
    const answers = ['wrong', 'right'];
    const asked: boolean[] = [];
    let key: string | null = null;
    const api = await apiFor(wantsKey, {
      readKey: () => key,
      askKey: async (refused) => {
        asked.push(refused);
        key = answers.shift() ?? null;
        return key;
      },
    });
    expect(await api.request('/')).toBe('let in');
    expect(asked).toEqual([false, true]);
  });

  it('fails when the person would rather not', async () => {
    const api = await apiFor(wantsKey);
    expect(await failureOf(api.request('/'))).toMatchObject({
      status: 401,
      message: 'unknown or missing api key',
    });
  });

  it('does not ask when another request has got a new key in the meantime', async () => {
    const keys = ['old', 'old', 'right'];
    const api = await apiFor(wantsKey, {
      readKey: () => (keys.length > 1 ? keys.shift()! : keys[0]!),
      askKey: () => Promise.reject(new Error('asked')),
    });
    expect(await api.request('/')).toBe('let in');
  });
});

describe('what only the operator may do', () => {
  let signedIn = false;
  const wantsOperator = (request: IncomingMessage, response: ServerResponse) => {
    if (signedIn) return sendJson(response, 200, request.method);
    response.setHeader('x-error-code', 'operator_required');
    sendJson(response, 403, { detail: 'This needs the key of /home/ann/.trunkline/operator-key.' });
  };
  const refusal = {
    status: 403,
    code: 'operator_required',
    message: 'Only the operator may see or do this.',
  };

  it('is done once the person has signed in', async () => {
    signedIn = false;
    const askOperator = async () => {
      signedIn = true;
      return true;
    };
    const api = await apiFor(wantsOperator, { askOperator });
    expect(await api.request('/', { method: 'PUT', body: {} })).toBe('PUT');
  });

  it('fails when the person would rather not', async () => {
    signedIn = false;
    const api = await apiFor(wantsOperator, { askOperator: async () => false });
    expect(await failureOf(api.request('/', { method: 'DELETE' }))).toMatchObject(refusal);
  });

  it('asks nobody when the page only loads, and is noted', async () => {
    signedIn = false;
    let missed = 0;
    const api = await apiFor(wantsOperator, {
      askOperator: () => Promise.reject(new Error('asked')),
      onOperatorMissed: () => {
        missed += 1;
      },
    });
    expect(await failureOf(api.request('/'))).toMatchObject(refusal);
    expect(missed).toBe(1);
  });

  it('is not asked for without end where signing in does not help', async () => {
    signedIn = false;
    const api = await apiFor(wantsOperator, { askOperator: async () => true });
    expect(await failureOf(api.request('/', { method: 'DELETE' }))).toMatchObject(refusal);
  });
});
