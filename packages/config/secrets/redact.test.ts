import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../index.ts';

describe('redacting fields by name', () => {
  it.each([
    'authorization',
    'Proxy-Authorization',
    'api_key',
    'apiKey',
    'x-api-key',
    'API-KEYS',
    'token',
    'bot_token',
    'refreshToken',
    'secret',
    'clientSecret',
    'webhook_secret',
    'password',
    'passphrase',
    'cookie',
    'Set-Cookie',
    'credentials',
    'private_key',
    'TRACE_SECRET_KEY',
  ])('hides %s', (name) => {
    expect(redact({ [name]: 'x' })).toEqual({ [name]: '[redacted]' });
    expect(redact({ deep: [{ [name]: { inner: ['x'] } }] })).toEqual({ deep: [{ [name]: '[redacted]' }] });
  });

  it('shows what only sounds like a secret', () => {
    const fields = {
      max_tokens: 5,
      totalTokens: 7,
      apiKeyEnv: 'LLM_API_KEY',
      key: 'a',
      tokenCount: 3,
      author: 'b',
      secretary: 'c',
    };
    expect(redact(fields)).toEqual(fields);
    expect(redact({ usage: { tokens: { input: 5 } }, hasPassword: true, password: null, token: '' })).toEqual(
      {
        usage: { tokens: { input: 5 } },
        hasPassword: true,
        password: null,
        token: '',
      },
    );
  });

  it('hides tokens that are texts', () => {
    expect(redact({ tokens: ['abc'], pin: 1, password: 1234 })).toEqual({
      tokens: '[redacted]',
      pin: 1,
      password: '[redacted]',
    });
  });

  it('hides what is in headers and maps', () => {
    const headers = new Headers({ Authorization: 'Bearer x', Accept: 'text/plain' });
    expect(redact(headers)).toEqual({ accept: 'text/plain', authorization: '[redacted]' });
    expect(redact(new Map([['api_key', 'x']]))).toEqual({ api_key: '[redacted]' });
  });
});

describe('redacting secrets inside texts', () => {
  const hide = (text: string, ...secrets: string[]) => redact(text, secrets);

  it('hides every occurrence, also in names of fields', () => {
    expect(hide('a sekret-1 b sekret-1', 'sekret-1')).toBe('a [redacted] b [redacted]');
    expect(redact({ 'user sekret-1': ['sekret-1'] }, ['sekret-1'])).toEqual({
      'user [redacted]': ['[redacted]'],
    });
  });

  it('hides secrets that hold, touch or overlap each other', () => {
    expect(hide('x abcdef y', 'abc', 'abcdef')).toBe('x [redacted] y');
    expect(hide('x abcdefghi y', 'abcdef', 'defghi')).toBe('x [redacted] y');
    expect(hide('abcabc', 'abc')).toBe('[redacted][redacted]');
    expect(hide('ababab', 'abab')).toBe('[redacted]');
  });

  it('hides them percent-encoded and inside JSON', () => {
    expect(hide('http://h/?q=a%2Fb%20c', 'a/b c')).toBe('http://h/?q=[redacted]');
    expect(hide(JSON.stringify({ body: 'say "hi"\nnow' }), 'say "hi"\nnow')).toBe('{"body":"[redacted]"}');
  });

  it('takes special characters literally', () => {
    expect(hide('a.b axb $& .*', 'a.b', '.*$')).toBe('[redacted] axb $& .*');
  });

  it('passes over blanks and what is too short to hide', () => {
    expect(hide('a b  c', '', '  ', 'a')).toBe('a b  c');
  });

  it('learns secrets that are added later', () => {
    const secrets = new Set<string>();
    const before = redact('late-secret', secrets);
    secrets.add('late-secret');
    expect([before, redact('late-secret', secrets)]).toEqual(['late-secret', '[redacted]']);
  });

  it.each([
    ['nats://user:pass@host:4222', 'nats://[redacted]@host:4222'],
    ['see https://ghp_abc@host/x and http://b/c@d', 'see https://[redacted]@host/x and http://b/c@d'],
    ['http://a:b@c, http://d:e@f', 'http://[redacted]@c, http://[redacted]@f'],
    ['GET /x?api_key=abc&page=2', 'GET /x?api_key=[redacted]&page=2'],
    ['https://h/?a=1&access_token=abc#top', 'https://h/?a=1&access_token=[redacted]#top'],
    ['Authorization: Bearer abcdefghijklmnop.qrs-tuv', 'Authorization: Bearer [redacted]'],
    ['basic authentication failed', 'basic authentication failed'],
    ['mail me@host.test', 'mail me@host.test'],
  ])('hides credentials by their form: %s', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it('leaves no trace of any secret in any text', () => {
    const secret = fc
      .string({ unit: fc.constantFrom('x', 'y', '"', '/', ' ', '$'), minLength: 3, maxLength: 6 })
      .filter((text) => text.trim().length >= 3);
    const property = fc.property(
      fc.array(secret, { minLength: 1, maxLength: 4 }),
      fc.string({ unit: fc.constantFrom('x', 'y', '"', '/', ' ', '$') }),
      (secrets, around) => {
        const hidden = String(redact(`${around}${secrets.join('')}${around}`, secrets));
        for (const one of secrets) expect(hidden).not.toContain(one);
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('is quick with a long text that is full of beginnings', () => {
    const text = `${'bearer '.repeat(50_000)}${'://a'.repeat(50_000)}${'?token'.repeat(50_000)}`;
    expect(redact(text, ['abcabcabd'])).toBe(text);
  });
});

describe('redacting values of any kind', () => {
  it('makes plain data of errors, with causes, codes and inner errors', () => {
    const cause = new TypeError('no sekret-1 here');
    const error = Object.assign(new Error('failed with sekret-1', { cause }), {
      code: 'E_FAIL',
      apiKey: 'x',
    });
    const copy = redact(new AggregateError([error], 'all sekret-1'), ['sekret-1']) as Record<string, unknown>;
    expect(copy).toMatchObject({
      type: 'AggregateError',
      message: 'all [redacted]',
      errors: [
        {
          type: 'Error',
          message: 'failed with [redacted]',
          code: 'E_FAIL',
          apiKey: '[redacted]',
          cause: { type: 'TypeError', message: 'no [redacted] here' },
        },
      ],
    });
    expect(JSON.stringify(copy)).not.toContain('sekret-1');
    expect(JSON.stringify(copy)).toContain('redact.test.ts');
  });

  it('bears circles, and causes that lead back', () => {
    const circle: Record<string, unknown> = { name: 'a' };
    circle.self = circle;
    expect(redact(circle)).toEqual({ name: 'a', self: '[circular]' });
    const error = new Error('loop');
    error.cause = error;
    expect(redact(error)).toMatchObject({ message: 'loop', cause: '[circular]' });
    const shared = { x: 1 };
    expect(redact([shared, shared])).toEqual([{ x: 1 }, { x: 1 }]);
  });

  it('cuts what is too deep or too much', () => {
    let deep: unknown = 'end';
    for (let level = 0; level < 10_000; level++) deep = { deep };
    expect(JSON.stringify(redact(deep))).toContain('[cut]');
    const many = Array.from({ length: 20_000 }, () => ({}));
    expect((redact(many) as unknown[]).at(-1)).toBe('[cut]');
  });

  it('copies dates, addresses, sets, bytes, big numbers and odd objects', () => {
    const throwing = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    const value = {
      date: new Date(0),
      url: new URL('http://a:b@c/'),
      set: new Set([1, 'sekret-1']),
      bytes: Buffer.from('sekret-1'),
      big: 12n,
      run: () => 1,
      list: [undefined, () => 1],
      throwing,
      none: undefined,
    };
    expect(redact(value, ['sekret-1'])).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      url: 'http://[redacted]@c/',
      set: [1, '[redacted]'],
      bytes: '[8 bytes]',
      big: '12',
      run: undefined,
      list: [null, null],
      throwing: '[unreadable]',
      none: undefined,
    });
  });

  it('changes nothing of what it is given', () => {
    const given = { apiKey: 'x', list: ['sekret-1'] };
    redact(given, ['sekret-1']);
    expect(given).toEqual({ apiKey: 'x', list: ['sekret-1'] });
  });

  it('sets no prototype', () => {
    const copy = redact(JSON.parse('{"__proto__":{"polluted":true}}')) as object;
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });
});
