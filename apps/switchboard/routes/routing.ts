import { checkTopic } from '@trunkline/bus';
import { describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AgentView, Load, Sighting } from '../api-types.ts';
import { confirmed } from '../dispatch/registry.ts';
import { throwBusFailure } from '../errors.ts';
import {
  type Decision,
  decide,
  decisionOf,
  defaultDecision,
  type Inbound,
  inOrder,
  type RoutingDeps,
  routesFor,
} from '../router/decide.ts';
import { isRouted } from '../router/router.ts';
import type { SwitchboardEnv } from './guards.ts';

const testBody = z.object({
  topic: z.string(),
  payload: z.record(z.string(), z.unknown()).default({}),
  source: z
    .object({ interface: z.string(), channelId: z.string(), userId: z.string() })
    .partial({ channelId: true, userId: true })
    .optional(),
});

export interface Insights {
  sighting(agent: string): Sighting | undefined;
  /** Brings the sightings up to date, where that is cheap. */
  look(): Promise<void>;
  load(agent: string): Load;
}

export function mountRouting(app: Hono<SwitchboardEnv>, deps: RoutingDeps, insights: Insights): void {
  app.get('/api/agents', describeRoute({ summary: 'Every agent and its skills' }), async (context) => {
    await insights.look();
    const takesRest = defaultAgent(deps);
    const agents = deps.registry
      .list()
      .map((executor) => ({ ...executor, skills: confirmed(executor.skills) }))
      // MCP servers are listed once their tools are known.
      .filter(({ type, skills }) => type !== 'mcp' || skills.length > 0)
      .map(
        ({ agent, type, skills }): AgentView => ({
          name: agent,
          type,
          skills,
          load: insights.load(agent),
          ...(agent === takesRest && { default: true }),
          ...(type === 'a2a' && { sighting: insights.sighting(agent) ?? null }),
        }),
      );
    return context.json({ success: true, data: agents });
  });
  const listed = describeRoute({ summary: 'The routes of routes.d, in the order in which they run' });
  app.get('/api/routes', listed, (context) =>
    context.json({ success: true, data: inOrder(deps.workspace.routes()) }),
  );
  const dryRun = describeRoute({
    summary: 'Where a message would go, and why; nothing is sent. `runs` names all that would run, in order',
  });
  app.post('/api/routes/test', dryRun, validate('json', testBody), (context) => {
    const { topic, payload, source } = context.req.valid('json');
    checkGiven(topic);
    const inbound: Inbound = {
      topic,
      payload,
      principal: context.get('principal'),
      ...(source && { source: { ...source } as NonNullable<Inbound['source']> }),
    };
    return context.json({ success: true, data: tryOut(inbound, deps) });
  });
}

function defaultAgent(deps: RoutingDeps): string | undefined {
  const { skill, agent } = { agent: undefined, ...defaultDecision(deps) };
  const found = skill === undefined ? undefined : deps.registry.resolve(skill, agent);
  return found && 'executor' in found ? found.executor.agent : undefined;
}

function tryOut(inbound: Inbound, deps: RoutingDeps) {
  const decisions = isRouted(inbound.topic) ? decide(inbound, deps) : byRoutesAlone(inbound, deps);
  const [first, ...others] = decisions.map((decision) => outcomeOf(decision, deps));
  return { ...first, runs: [first, ...others] };
}

function outcomeOf(decision: Decision, deps: RoutingDeps) {
  if (decision.skill === undefined)
    return { dispatched: false, reason: decision.ignored ? 'ignored' : 'no_skill', why: decision.why };
  const { skill, agent: wanted, rule, route, why } = decision;
  const found = deps.registry.resolve(skill, wanted);
  const by = { rule, ...(route !== undefined && { route }) };
  if ('reason' in found)
    return { dispatched: false, skill, ...by, reason: found.reason, why: `${why}, but ${found.why}` };
  const { agent, type } = found.executor;
  return { dispatched: true, skill, agent, executorType: type, ...by, why };
}

function byRoutesAlone(inbound: Inbound, { workspace }: RoutingDeps): readonly Decision[] {
  const running = routesFor(inbound, workspace.routes(), { isSent: false }).map(decisionOf);
  if (running.length > 0) return running;
  return [{ why: `the router does not read ${inbound.topic}, and no route takes it` }];
}

function checkGiven(topic: string): void {
  try {
    checkTopic(topic);
  } catch (error) {
    throwBusFailure(error);
  }
}
