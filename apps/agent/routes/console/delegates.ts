import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { type Delegate, DelegateError } from '@trunkline/tools';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { PluginState } from '../../plugins/open-plugins.ts';
import { consoleErrors } from './errors.ts';

export interface DelegateRoutes {
  delegates(): readonly Delegate[];
  plugins(): readonly PluginState[];
}

const trial = z.object({ query: z.string().trim().min(1).default('Are you there? Answer in one word.') });
const trialLimitMs = 60_000;

/** Those the agent may hand work to, and the plugins that give it tools. */
export function mountDelegates(app: Hono<AppEnv>, { delegates, plugins }: DelegateRoutes): void {
  app.get('/api/plugins', describeRoute({ summary: 'Plugins and their state' }), (context) =>
    context.json({ plugins: plugins() }),
  );
  app.get('/api/delegates', describeRoute({ summary: 'Delegates of the agent' }), (context) =>
    context.json({ delegates: delegates().map(({ name, description }) => ({ name, description })) }),
  );
  app.post(
    '/api/delegates/:name/test',
    describeRoute({ summary: 'Ask a delegate something' }),
    validate('json', trial.prefault({})),
    async (context) => {
      const name = context.req.param('name');
      const delegate = delegates().find((candidate) => candidate.name === name);
      if (delegate === undefined) throw consoleErrors.not_found({ what: `delegate named ${name}` });
      return context.json(await tryOut(delegate, context.req.valid('json').query, context.get('principal')));
    },
  );
}

async function tryOut(
  delegate: Delegate,
  query: string,
  principal: Principal,
): Promise<{ ok: boolean; answer: string }> {
  const signal = AbortSignal.timeout(trialLimitMs);
  try {
    const sessionId = `test-${crypto.randomUUID()}`;
    return { ok: true, answer: await delegate.ask(query, { signal, sessionId, principal }) };
  } catch (error) {
    if (error instanceof DelegateError) return { ok: false, answer: error.message };
    if (signal.aborted)
      return { ok: false, answer: `${delegate.name} took longer than ${trialLimitMs / 1000} s.` };
    throw error;
  }
}
