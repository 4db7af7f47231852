import { type Bus, BusError } from '@trunkline/bus';
import { defineErrors, describeRoute, readJson } from '@trunkline/http';
import type { Hono } from 'hono';
import { busFailure } from '../errors.ts';
import type { OnboardResult } from '../onboarding/pipeline.ts';
import type { SwitchboardEnv } from './guards.ts';

const waitMs = 60_000;

const errors = defineErrors({
  onboard_slow: [
    504,
    'It takes longer than 60 s; it goes on, and message.inbound.onboard.complete tells when it is done.',
  ],
});

/** Brings a project online and waits for the result. */
export function mountOnboard(app: Hono<SwitchboardEnv>, bus: Bus): void {
  const about = describeRoute({ summary: 'Brings a project online', errors: [errors.onboard_slow] });
  app.post('/api/onboard', about, async (context) => {
    const request = await readJson(context.req);
    const options = {
      timeoutMs: waitMs,
      signal: context.req.raw.signal,
      source: { interface: 'api' },
      principal: context.get('principal'),
    };
    const answer = await bus.request('message.inbound.onboard', request, options).catch(explain);
    const result = answer.payload as OnboardResult;
    if (result.success) return context.json({ ...result, data: result });
    return context.json({ ...result, error: result.summary }, result.code === 'in_flight' ? 409 : 400);
  });
}

function explain(error: unknown): never {
  if (error instanceof BusError && error.code === 'request_timeout')
    throw errors.onboard_slow({ cause: error });
  throw busFailure(error);
}
