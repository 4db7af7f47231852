import { describe, expect, it } from 'vitest';
import { codehostFailure } from './clients.ts';

const refusal = (status: number, message: string, headers: Record<string, string> = {}) =>
  codehostFailure(Object.assign(new Error(message), { status, response: { headers } }));

describe('a refusal of the code host', () => {
  it('that tells of its secondary limit is waited out for a minute where it does not say how long', () => {
    const words = 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';
    expect(refusal(403, words)).toMatchObject({ permanent: false, retryAfterMs: 60_000 });
    expect(refusal(403, words, { 'retry-after': '7' })).toMatchObject({
      permanent: false,
      retryAfterMs: 7000,
    });
  });

  it('of another kind is final', () => {
    expect(refusal(403, 'Resource not accessible by integration')).toMatchObject({ permanent: true });
  });

  it('with a limit that does not say when it ends is not asked again at once', () => {
    const { permanent, retryAfterMs } = refusal(403, 'API rate limit exceeded', {
      'x-ratelimit-remaining': '0',
    });
    expect({ permanent, retryAfterMs }).toEqual({ permanent: false, retryAfterMs: 60_000 });
  });
});
