import { APICallError, JSONParseError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { toModelError } from './error-translation.ts';
import { ModelError } from './model-error.ts';

function response(statusCode: number, error: object = {}, responseHeaders: Record<string, string> = {}) {
  return new APICallError({
    message: 'endpoint said no',
    url: 'http://model.test/v1/chat/completions',
    requestBodyValues: { messages: ['private words'] },
    statusCode,
    responseHeaders,
    data: { error: { message: 'endpoint said no', ...error } },
  });
}

describe('statuses', () => {
  it.each([
    [401, {}, 'refused-key', false],
    [403, {}, 'refused-key', false],
    [402, {}, 'no-credit', false],
    [404, {}, 'not-found', false],
    [429, {}, 'rate-limited', true],
    [429, { code: 'insufficient_quota' }, 'no-credit', false],
    [429, { message: 'too many tokens per minute' }, 'rate-limited', true],
    [400, {}, 'bad-request', false],
    [400, { code: 'context_length_exceeded' }, 'context-too-long', false],
    [400, { message: 'This exceeds the context window.' }, 'context-too-long', false],
    [400, { code: 'model_not_found' }, 'not-found', false],
    [413, {}, 'context-too-long', false],
    [408, {}, 'server-error', true],
    [500, {}, 'server-error', true],
    [503, {}, 'server-error', true],
    [200, {}, 'bad-answer', false],
  ])('%i %j is %s', (status, said, code, retryable) => {
    expect(toModelError(response(status, said))).toMatchObject({ code, retryable, status });
  });

  it('reads a message of any length, its start and its end', () => {
    const flood = 'model '.repeat(200_000);
    expect(toModelError(response(503, { message: flood }))).toMatchObject({ code: 'server-error' });
    expect(toModelError(response(503, { message: `Loading model${flood}` }))).toMatchObject({
      code: 'loading',
    });
    const message = `${flood}exceeds the context window of 4096 tokens`;
    expect(toModelError(response(400, { message }))).toMatchObject({
      code: 'context-too-long',
      contextTokens: 4096,
    });
  });

  it('names the setting to change', () => {
    expect(toModelError(response(401)).message).toContain('LLM_API_KEY');
    expect(toModelError(response(404)).message).toContain('LLM_MODEL');
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:01:00 GMT' }, 50_000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:01 GMT' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-3' }, undefined],
    [{}, undefined],
  ])('reads the wait from %j', (headers, retryAfterMs) => {
    const now = () => 10_000;
    expect(toModelError(response(429, {}, headers as Record<string, string>), { now }).retryAfterMs).toBe(
      retryAfterMs,
    );
  });
});

describe('what did not come as a status', () => {
  const network = (code: string) =>
    new TypeError('fetch failed', { cause: Object.assign(new Error('inner'), { code }) });

  it.each([
    [network('ECONNREFUSED'), 'unreachable'],
    [network('ENOTFOUND'), 'unreachable'],
    [network('ECONNRESET'), 'interrupted'],
    [network('UND_ERR_SOCKET'), 'interrupted'],
    [network('UND_ERR_HEADERS_TIMEOUT'), 'timeout'],
    [new DOMException('stopped', 'AbortError'), 'aborted'],
    [new DOMException('late', 'TimeoutError'), 'timeout'],
    [new JSONParseError({ text: '{', cause: new Error('end') }), 'bad-answer'],
    [{ message: 'slow down', type: 'rate_limit_error' }, 'rate-limited'],
    [{ message: 'overloaded', type: 'overloaded_error' }, 'server-error'],
    [{ message: 'maximum context length is 10' }, 'context-too-long'],
    [new Error('odd'), 'unknown'],
    ['just text', 'unknown'],
    [undefined, 'unknown'],
  ])('%s is %s', (error, code) => {
    expect(toModelError(error).code).toBe(code);
  });

  it('names the address when nothing listens there', () => {
    expect(toModelError(network('ECONNREFUSED')).message).toMatch(/LLM_GATEWAY_URL.*ECONNREFUSED/);
  });

  it('passes its own errors through', () => {
    const error = new ModelError('timeout');
    expect(toModelError(error)).toBe(error);
  });
});

describe('secrets', () => {
  it.each([
    [response(400, { message: 'key hunter2-and-more is odd' })],
    [response(401, { message: 'Incorrect API key provided: sk-abc***************def' })],
    [response(400, { message: 'got header Bearer hunter2-and-more' })],
    [new Error('used sk-proj-abcdef123456 for this')],
  ])('keeps keys and prompts out of error %#', (error) => {
    const told = toModelError(error, { secrets: ['hunter2-and-more'] });
    const everything = JSON.stringify([told.message, told.cause, { ...told }]);
    expect(everything).not.toMatch(/hunter2|sk-|private words/);
  });

  it('shortens what an endpoint says at length', () => {
    expect(toModelError(response(400, { message: 'x'.repeat(5_000) })).message.length).toBeLessThan(500);
  });
});
