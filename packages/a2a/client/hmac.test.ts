import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSigned, signBody } from './agent-fetch.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

function received(headers: ReturnType<typeof signBody>) {
  return { timestamp: headers['x-timestamp'], signature: headers['x-signature-256'] };
}

describe('signed bodies', () => {
  it('signs the time and the body with the shared secret [S100]', () => {
    const headers = signBody('secret', '{"a":1}', now + 999);
    const timestamp = String(now / 1000);
    const expected = createHmac('sha256', 'secret').update(`${timestamp}.{"a":1}`).digest('hex');
    expect(headers).toEqual({ 'x-timestamp': timestamp, 'x-signature-256': `sha256=${expected}` });
    expect(isSigned('secret', '{"a":1}', received(headers), now)).toBe(true);
  });

  it('does not take another body, secret, time or signature', () => {
    const given = received(signBody('secret', 'body', now));
    expect(isSigned('secret', 'bodY', given, now)).toBe(false);
    expect(isSigned('other', 'body', given, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, timestamp: String(now / 1000 + 1) }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, timestamp: 'yesterday' }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, signature: given.signature.slice(7) }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, signature: undefined }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, timestamp: undefined }, now)).toBe(false);
  });

  it('lets the clocks differ by 300 seconds and no more', () => {
    const given = received(signBody('secret', 'body', now));
    expect(isSigned('secret', 'body', given, now + 300_000)).toBe(true);
    expect(isSigned('secret', 'body', given, now - 300_000)).toBe(true);
    expect(isSigned('secret', 'body', given, now + 301_000)).toBe(false);
    expect(isSigned('secret', 'body', given, now - 301_000)).toBe(false);
  });
});
