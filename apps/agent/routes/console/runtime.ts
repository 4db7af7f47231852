import type { TaskEngine } from '@trunkline/a2a';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { type Delegate, DelegateError } from '@trunkline/tools';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Telemetry } from '../../activity/telemetry.ts';
import type { ActiveAgent } from '../../agent-factory.ts';
import { actingFor } from '../../approvals/approvals.ts';
import type { PluginState } from '../../plugins/open-plugins.ts';
import type { ScopeRequest } from '../../turns/memory-scope.ts';
import { runSubagent, Spending } from '../../turns/subagents.ts';
import type { TurnObserver } from '../../turns/turn-runner.ts';
import { consoleErrors } from './errors.ts';

const trial = z.object({ query: z.string().trim().min(1).default('Are you there? Answer in one word.') });

const trialLimitMs = 60_000;

export interface RuntimeRoutes {
  active: ActiveAgent;
  engine: TaskEngine;
  telemetry: Telemetry;
  observers: readonly TurnObserver[];
  /** Whose memories a turn may use. */
  scopeOf(request: ScopeRequest): string;
  /** What else the console shows of the service. */
  facts(): Record<string, unknown>;
}

const MAX_MINUTES = 30 * 24 * 60;
const span = z.object({
  minutes: z.coerce.number().int().min(5).max(MAX_MINUTES).default(60),
  steps: z.coerce.number().int().min(5).max(240).default(60),
});
const order = z.object({ prompt: z.string().trim().min(1) });

/** What runs: the state of the service, its tools, helpers and skills, and what it has cost. */
export function mountRuntime(app: Hono<AppEnv>, routes: RuntimeRoutes): void {
  const { active, engine, telemetry } = routes;
  const startedAt = new Date().toISOString();
  app.get('/api/runtime/status', describeRoute({ summary: 'State of the service' }), (context) =>
    context.json({
      ...routes.facts(),
      graph_compiled: active.isReady,
      started_at: startedAt,
      running_turns: engine.running,
      tasks_in_memory: engine.inMemory,
    }),
  );
  app.get('/api/tools', describeRoute({ summary: 'Tools of the agent' }), async (context) => {
    const { tools, humanTools } = await active.current();
    const listed = [...tools, ...humanTools];
    return context.json({
      tools: listed.map(({ name, description, pause }) => ({ name, description, waits: pause === true })),
    });
  });
  app.get('/api/telemetry', describeRoute({ summary: 'Cost and latency by model' }), (context) =>
    context.json(telemetry.report()),
  );
  app.get(
    '/api/telemetry/series',
    describeRoute({ summary: 'Cost, tokens and latency over time' }),
    validate('query', span),
    (context) => {
      const { minutes, steps } = context.req.valid('query');
      return context.json(telemetry.series(minutes, steps));
    },
  );
  mountSubagents(app, routes);
}

function mountSubagents(app: Hono<AppEnv>, { active, observers, scopeOf }: RuntimeRoutes): void {
  app.get('/api/subagents', describeRoute({ summary: 'Helpers of the agent' }), async (context) =>
    context.json({ subagents: (await active.current()).subagents }),
  );
  app.post(
    '/api/subagents/:name/run',
    describeRoute({ summary: 'Give a helper one piece of work' }),
    validate('json', order),
    async (context) => {
      const compiled = await active.current();
      const name = context.req.param('name');
      if (!compiled.subagents.some((subagent) => subagent.name === name)) {
        throw consoleErrors.not_found({ what: `subagent named ${name}` });
      }
      const sessionId = `console-${crypto.randomUUID()}`;
      const principal = actingFor(context.get('principal'));
      const result = await runSubagent(
        name,
        context.req.valid('json').prompt,
        { sessionId, principal, scope: scopeOf({ principal, sessionId }), signal: context.req.raw.signal },
        {
          graph: compiled,
          spending: new Spending(compiled.limits),
          onEvent: (event) => {
            for (const observer of observers) observer.turnEvent?.(sessionId, event);
          },
        },
      );
      return context.json({ ok: !result.startsWith('Error:'), result });
    },
  );
}

interface DelegateRoutes {
  delegates(): readonly Delegate[];
  plugins(): readonly PluginState[];
}

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
