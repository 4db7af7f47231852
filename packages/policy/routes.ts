import { ConfigError, lineProblem } from '@trunkline/config';
import {
  type AppEnv,
  changesNothing,
  defineErrors,
  describeRoute,
  requireOperator,
  validate,
} from '@trunkline/http';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import type { DescriptionView, PolicyToolView, PolicyView } from '@trunkline/std';
import { StorageError } from '@trunkline/storage';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Policy } from './policy.ts';
import { explainCall, type PolicyTool } from './try-call.ts';

const MAX_TEXT = 256 * 1024;
const member: Principal = { kind: 'person', id: 'member', via: [], role: 'member' };
const outside = [{ kind: 'fetch_url', source: 'https://example.com/' }];

const text = z.string().max(MAX_TEXT);
const line = z.string().min(1).max(500);
const call = z.object({
  tool: line,
  arguments: z.record(z.string(), z.unknown()).optional(),
  principal: line.optional(),
  agent: line.optional(),
  taint: z.array(line).max(20).optional(),
  effects: z.array(line).max(10).optional(),
  known: z.boolean().optional(),
});

const errors = defineErrors({
  policy_changed: [
    409,
    'Somebody else has changed policy.yaml meanwhile. Load it again; your text is not saved.',
  ],
  policy_invalid: [422, ({ words }: { words: string }) => `policy.yaml was not saved. ${words}`],
  call_invalid: [422, ({ words }: { words: string }) => words],
});

export interface PolicyRoutes {
  policy: Policy;
  operator: OperatorAccess;
  service: string;
  /** Names under which the service makes calls. */
  agents(): readonly string[];
  tools(): readonly PolicyTool[];
}

/** The policy of the installation, for its operator; every service serves the same file, and its own tools. */
export function mountPolicy<Caller>(app: Hono<AppEnv<Caller>>, routes: PolicyRoutes): void {
  const { policy, operator, tools } = routes;
  for (const path of ['/operator/policy', '/operator/policy/*']) app.use(path, requireOperator(operator));
  app.get(
    '/operator/policy',
    describeRoute({
      summary: 'What counts now: rules, hosts, relaxed agents, budgets, tools of this service',
    }),
    async (context) => context.json(await viewOf(routes)),
  );
  app.put(
    '/operator/policy',
    describeRoute({
      summary: 'Replace policy.yaml',
      description:
        'Nothing changes when the text is not valid, or when `before` is not what stands in the file (null: no file).',
      errors: [errors.policy_changed, errors.policy_invalid],
    }),
    validate('json', z.object({ text, before: text.nullable() })),
    async (context) => {
      const given = context.req.valid('json');
      await policy.save(given.text, given.before ?? undefined).catch(refuseSave);
      return context.json(await viewOf(routes));
    },
  );
  app.post(
    '/operator/policy/descriptions',
    describeRoute({
      summary: 'Accept what an MCP server or an agent says about itself',
      description:
        'By the hash of the text that was shown. Until then it marks every turn that shows it to the model; so does a later text.',
      errors: [errors.policy_changed, errors.policy_invalid],
    }),
    validate('json', described),
    async (context) => {
      await policy.accept(context.req.valid('json')).catch(refuseSave);
      return context.json({ descriptions: descriptionsOf(policy, tools()) });
    },
  );
  app.post(
    '/operator/policy/check',
    describeRoute({ summary: 'What is wrong with a text as policy.yaml, line by line; nothing is written' }),
    changesNothing,
    validate('json', z.object({ text })),
    (context) =>
      context.json({ problems: policy.problemsOf(context.req.valid('json').text).map(lineProblem) }),
  );
  app.post(
    '/operator/policy/test',
    describeRoute({ summary: 'Explain what would happen to a tool call', errors: [errors.call_invalid] }),
    changesNothing,
    validate('json', call),
    (context) => context.json(explained(policy, context.req.valid('json'), tools())),
  );
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256');
const described = z.object({ kind: z.enum(['mcp-description', 'agent-card']), source: line, sha256 });

async function viewOf({ policy, service, agents, tools }: PolicyRoutes): Promise<PolicyView> {
  const { config, problem, usage } = policy;
  return {
    file: policy.file,
    text: (await policy.read()) ?? null,
    problem,
    rules: config.rules,
    hosts: config.hosts,
    relaxed: Object.keys(config.agents).filter((name) => config.agents[name]?.taint === 'relaxed'),
    delegating: Object.keys(config.agents).filter((name) => config.agents[name]?.delegation === 'relaxed'),
    budgets: config.budgets.map((budget, index) => ({ ...budget, used: usage[index] ?? [] })),
    descriptions: descriptionsOf(policy, tools()),
    service,
    agents: [...agents()],
    tools: tools().map((tool) => toolView(policy, tool, agents()[0] ?? service)),
  };
}

function descriptionsOf(policy: Policy, tools: readonly PolicyTool[]): DescriptionView[] {
  const known = tools.flatMap(({ describedIn = [] }) => describedIn);
  return [...new Map(known.map((each) => [each.sha256 + each.source, each])).values()].map((each) => {
    const { kind, source, text, sha256 } = each;
    const unaccepted = policy.isChanged(each) ? 'changed' : 'new';
    return { kind, source, text, sha256, state: policy.isAccepted(each) ? 'accepted' : unaccepted };
  });
}

function toolView(policy: Policy, tool: PolicyTool, agent: string): PolicyToolView {
  const { name, effects, external = false } = tool;
  const request = { principal: member, agent, tool: name, effects, subject: {} };
  return {
    name,
    effects,
    external,
    asksItself: tool.pause === true || tool.pausesFor !== undefined,
    clean: policy.decide({ ...request, origins: [] }),
    tainted: policy.decide({ ...request, origins: outside }),
  };
}

function explained(policy: Policy, given: z.output<typeof call>, tools: readonly PolicyTool[]) {
  try {
    return explainCall(policy, given, tools);
  } catch (error) {
    if (error instanceof ConfigError) throw errors.call_invalid({ words: error.message });
    throw error;
  }
}

function refuseSave(error: unknown): never {
  if (error instanceof ConfigError) throw errors.policy_invalid({ words: error.message });
  if (error instanceof StorageError && error.code === 'file_changed') throw errors.policy_changed();
  throw error;
}
