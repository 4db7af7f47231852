import type { TaskEngine } from '@trunkline/a2a';
import type { AppEnv } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { TurnEvent } from '@trunkline/loop';
import { type Delegate, DelegateError } from '@trunkline/tools';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Telemetry } from '../../activity/telemetry.ts';
import type { ActiveAgent } from '../../agent-factory.ts';
import { actingFor } from '../../approvals/approvals.ts';
import type { Owners } from '../../owners.ts';
import type { PluginState } from '../../plugins/open-plugins.ts';
import { runSubagent, Spending } from '../../turns/subagents.ts';
import type { ObserveTurn } from '../../turns/turn-runner.ts';
import { jsonRoutes } from '../json-routes.ts';
import { consoleErrors } from './errors.ts';

const trial = z.object({ query: z.string().trim().min(1).default('Are you there? Answer in one word.') });

const trialLimitMs = 60_000;

export interface RuntimeRoutes {
  active: ActiveAgent;
  engine: TaskEngine;
  telemetry: Telemetry;
  observe: ObserveTurn;
  owners: Owners;
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
  const { active, engine, telemetry, owners, observe } = routes;
  const { get, post } = jsonRoutes(app);
  const startedAt = new Date().toISOString();
  get('/api/runtime/status', { summary: 'State of the service' }, () => ({
    ...routes.facts(),
    graph_compiled: active.isReady,
    started_at: startedAt,
    running_turns: engine.running,
    tasks_in_memory: engine.inMemory,
  }));
  get('/api/tools', { summary: 'Tools of the agent' }, async () => {
    const { tools, humanTools } = await active.current();
    const listed = [...tools, ...humanTools];
    return {
      tools: listed.map(({ name, description, pause }) => ({ name, description, waits: pause === true })),
    };
  });
  /** The figures are those of all callers together. */
  const figuresFor = (principal: Principal) => {
    if (principal.kind === 'person' || principal.kind === 'approver') throw consoleErrors.figures_of_all();
    return telemetry;
  };
  get('/api/telemetry', { summary: 'Cost and latency by model' }, ({ principal }) =>
    figuresFor(principal).report(),
  );
  const series = { summary: 'Cost, tokens and latency over time', query: span };
  get('/api/telemetry/series', series, ({ query, principal }) =>
    figuresFor(principal).series(query.minutes, query.steps),
  );
  get('/api/subagents', { summary: 'Helpers of the agent' }, async () => ({
    subagents: (await active.current()).subagents,
  }));
  const work = { summary: 'Give a helper one piece of work', json: order };
  post('/api/subagents/:name/run', work, async ({ param: { name }, json, principal: asker, signal }) => {
    const graph = await active.current();
    if (!graph.subagents.some((subagent) => subagent.name === name))
      throw consoleErrors.not_found({ what: `subagent named ${name}` });
    const sessionId = `console-${crypto.randomUUID()}`;
    const principal = actingFor(asker);
    const context = { sessionId, principal, scope: owners.memory({ principal, sessionId }), signal };
    const spending = new Spending(graph.limits(graph.model()));
    const onEvent = (event: TurnEvent) => observe(sessionId, event, principal);
    const result = await runSubagent(name, json.prompt, context, { graph, spending, onEvent });
    return { ok: !result.startsWith('Error:'), result };
  });
}

interface DelegateRoutes {
  delegates(): readonly Delegate[];
  plugins(): readonly PluginState[];
}

/** Those the agent may hand work to, and the plugins that give it tools. */
export function mountDelegates(app: Hono<AppEnv>, { delegates, plugins }: DelegateRoutes): void {
  const { get, post } = jsonRoutes(app);
  get('/api/plugins', { summary: 'Plugins and their state' }, () => ({ plugins: plugins() }));
  get('/api/delegates', { summary: 'Delegates of the agent' }, () => ({
    delegates: delegates().map(({ name, description }) => ({ name, description })),
  }));
  const ask = { summary: 'Ask a delegate something', json: trial.prefault({}) };
  post('/api/delegates/:name/test', ask, async ({ param: { name }, json, principal }) => {
    const delegate = delegates().find((candidate) => candidate.name === name);
    if (delegate === undefined) throw consoleErrors.not_found({ what: `delegate named ${name}` });
    return await tryOut(delegate, json.query, principal);
  });
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
