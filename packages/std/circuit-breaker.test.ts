import { beforeEach, expect, it } from 'vitest';
import { CircuitBreaker } from './index.ts';

let now = 0;
beforeEach(() => {
  now = 0;
});

it('opens after as many failures in a row, and a success starts the count again', () => {
  const breaker = new CircuitBreaker({ failureThreshold: 2, now: () => now });
  breaker.fail();
  breaker.succeed();
  breaker.fail();
  expect(breaker).toMatchObject({ state: 'closed', failures: 1, retryAfterMs: 0 });
  breaker.fail();
  expect(breaker).toMatchObject({ state: 'open', failures: 2, retryAfterMs: 30_000 });
});

it('lets one trial through after the cooldown, whose success closes it', () => {
  const breaker = opened({ cooldownMs: 100 });
  now = 100;
  expect(breaker).toMatchObject({ state: 'half-open', retryAfterMs: 0 });
  breaker.start();
  expect(breaker.state).toBe('open');
  breaker.succeed();
  expect(breaker.state).toBe('closed');
});

it('opens again when the trial fails, and allows another when it says nothing', () => {
  const breaker = opened({ cooldownMs: 100 });
  now = 100;
  breaker.start();
  breaker.fail();
  expect(breaker.retryAfterMs).toBe(100);
  now = 200;
  breaker.start();
  breaker.release();
  expect(breaker.state).toBe('half-open');
});

it('doubles the cooldown with every failure up to its maximum, and forgets that with a success', () => {
  const breaker = opened({ cooldownMs: 100, maxCooldownMs: 300 });
  const cooldowns = [breaker.retryAfterMs];
  for (let trial = 0; trial < 3; trial += 1) {
    now += breaker.retryAfterMs;
    breaker.start();
    breaker.fail();
    cooldowns.push(breaker.retryAfterMs);
  }
  expect(cooldowns).toEqual([100, 200, 300, 300]);
  breaker.succeed();
  breaker.fail();
  expect(breaker.retryAfterMs).toBe(100);
});

function opened(options: { cooldownMs: number; maxCooldownMs?: number }): CircuitBreaker {
  const breaker = new CircuitBreaker({ failureThreshold: 1, now: () => now, ...options });
  breaker.fail();
  return breaker;
}
