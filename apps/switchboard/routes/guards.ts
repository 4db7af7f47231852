import { escapeSegment } from '@trunkline/bus';
import { type AppEnv, callerGuard, requireOperator } from '@trunkline/http';
import { isDirectOperator, type OperatorAccess, type Principal } from '@trunkline/identity';
import type { Hono, MiddlewareHandler } from 'hono';
import { type Caller, guest, operator } from '../access/caller.ts';
import type { Keys } from '../access/keys.ts';
import { switchboardErrors } from '../errors.ts';

export type SwitchboardEnv = AppEnv<Caller>;

/** The one place where keys are checked. What is not under these paths is public. */
const guardedPaths = [
  '/publish',
  '/api/*',
  '/v1/*',
  '/a2a',
  '/a2a/*',
  '/message:send',
  '/message:stream',
  '/tasks',
  '/tasks/*',
  '/extendedAgentCard',
];

/** What configures, executes, reveals files or repeats what others asked: for the operator alone, in person. */
export const operatorRoutes = [
  'POST /api/agents',
  'PUT /api/agents/:name',
  'DELETE /api/agents/:name',
  'POST /api/external-agents',
  'PUT /api/external-agents/:name',
  'DELETE /api/external-agents/:name',
  'POST /api/routes',
  'PUT /api/routes/:name',
  'DELETE /api/routes/:name',
  'POST /api/mcp-servers',
  'PUT /api/mcp-servers/:name',
  'DELETE /api/mcp-servers/:name',
  'POST /api/mcp-servers/test',
  'POST /api/mcp-servers/:name/test',
  'POST /api/mcp-servers/:name/enabled',
  'POST /api/ceremonies',
  'PUT /api/ceremonies/:name',
  'DELETE /api/ceremonies/:name',
  'GET /api/workspace/files/:kind/:name',
  'PUT /api/workspace/files/:kind/:name',
  'POST /api/workspace/files/:kind/:name/check',
  'GET /api/changes',
  'GET /api/changes/:id',
  'POST /api/changes/:id/undo',
  'POST /api/flows/:id/replay',
  'POST /api/deliveries/:id/replay',
  'POST /api/dead-letters/:id/replay',
  'POST /api/vectors/documents',
  // Registers webhooks and folders with the operator's accounts.
  'POST /api/onboard',
];

/**
 * Open to whoever is let in without a key: messages, questions to agents, reading. The handlers of some look closer: an
 * approval is the operator's to answer, an order the operator's to publish, a schedule its maker's to change.
 */
export const openRoutes = [
  'POST /publish',
  'POST /v1/chat/completions',
  'GET /v1/models',
  'GET /v1/models/:id',
  'POST /api/agent/ask-human',
  'POST /api/a2a/input',
  'POST /api/routes/test',
  'POST /api/incidents',
  'POST /api/incidents/:id/resolve',
  'POST /api/ceremonies/:id/run',
  'POST /api/schedules',
  'PUT /api/schedules/:id',
  'DELETE /api/schedules/:id',
  'POST /api/schedules/preview',
  'POST /api/schedules/:id/pause',
  'POST /api/schedules/:id/resume',
  'POST /api/schedules/:id/run-now',
  'GET /api/ab-tests',
  'GET /api/agents',
  'GET /api/alerts',
  'GET /api/bus/history',
  'GET /api/bus/stream',
  'GET /api/ceremonies',
  'GET /api/ceremonies/:id',
  'GET /api/cluster',
  'GET /api/dead-letters',
  'GET /api/deliveries',
  'GET /api/flows',
  'GET /api/flows/:id',
  'GET /api/hitl/pending',
  'GET /api/incidents',
  'GET /api/mcp-servers',
  'GET /api/mcp-servers/:name',
  'GET /api/plugins',
  'GET /api/projects',
  'GET /api/routes',
  'GET /api/schedules',
  'GET /api/schedules/:id',
  'GET /api/settings/global',
  'GET /api/vectors',
  'GET /api/vectors/search',
  'GET /api/workspace',
];

/** A2A has many paths, and guards of its own behind these. */
const a2aPath = /^\/(v1\/)?(a2a(\/|$)|message:|tasks(\/|$)|card$|extendedAgentCard$)/;

/** Paths that a scoped key may use, within its patterns; everything else behind the guard is for the operator. */
const scopedPaths: ReadonlySet<string> = new Set([
  '/publish',
  '/api/bus/stream',
  '/api/bus/history',
  '/api/agent/ask-human',
]);

/** A scoped key has schedules of its own, too. */
export function isScopedPath(path: string): boolean {
  return scopedPaths.has(path) || path === '/api/schedules' || path.startsWith('/api/schedules/');
}

export interface GuardParts {
  keys: Keys;
  access: OperatorAccess;
  /** The name under which our own agent service has its schedules. */
  agentName: string | undefined;
}

export function mountGuards(app: Hono<SwitchboardEnv>, { keys, access, agentName }: GuardParts): void {
  const identify = callerGuard<Caller>({
    keyring: keys.keyring,
    openCaller: keys.openCaller,
    trustedCaller: trustedCallers(agentName),
    principalOf: ({ name, admin }) => ({ kind: admin ? 'operator' : 'agent', id: `key:${name}`, via: [] }),
  });
  for (const path of guardedPaths) app.use(path, identify, endWithKey(keys), admit(access));
}

/**
 * The operator is known by their own key too. Who speaks for them through another service may ask, not order; our agent
 * service, acting for itself, has its own schedules.
 */
function trustedCallers(agentName: string | undefined): (principal: Principal) => Caller | undefined {
  const agent = agentName === undefined ? undefined : scheduler(agentName);
  return (principal) => {
    if (isDirectOperator(principal)) return operator;
    if (principal.kind === 'service' && principal.id === 'agent') return agent;
    return principal.kind === 'operator' ? guest : undefined;
  };
}

function scheduler(name: string): Caller {
  return {
    name,
    admin: false,
    publish: ['command.schedule', `cron.${escapeSegment(name)}.#`],
    subscribe: [],
  };
}

/** Without a key, what is in no list is for the operator. */
function admit(access: OperatorAccess): MiddlewareHandler<SwitchboardEnv> {
  const isOpenRoute = routeMatcher(openRoutes);
  const operatorOnly = requireOperator(access);
  return (context, next) => {
    const { admin, guest: isGuest } = context.get('caller');
    const { method, path } = context.req;
    if (admin) {
      // TRUNKLINE_OPEN: whoever is let in without a key is the operator.
      if (access.isOpen && context.get('principal').kind === 'anonymous')
        context.set('principal', { kind: 'operator', id: 'operator', via: [] });
      return next();
    }
    if (isGuest) {
      const isOpen = a2aPath.test(path) || isOpenRoute(method, path);
      return isOpen ? next() : operatorOnly(context, next);
    }
    if (isScopedPath(path)) return next();
    throw switchboardErrors.admin_only();
  };
}

/** Whether a request is for one of the routes, written as `METHOD /path/:parameter`. */
function routeMatcher(routes: readonly string[]): (method: string, path: string) => boolean {
  const exact = new Set(routes.filter((route) => !route.includes(':')));
  const patterns = routes
    .filter((route) => route.includes(':'))
    .map((route) => new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`));
  return (method, path) => {
    const route = `${method === 'HEAD' ? 'GET' : method} ${path}`;
    return exact.has(route) || patterns.some((pattern) => pattern.test(route));
  };
}

/** Cuts off what is still being answered when its key is revoked or changed: streams, and whoever waits for a person. */
function endWithKey(keys: Keys): MiddlewareHandler<SwitchboardEnv> {
  return (context, next) => {
    // The busiest route is answered at once.
    if (context.req.path === '/publish') return next();
    const { outgoing } = context.env;
    const forget = keys.onRevoked(context.get('caller'), () => outgoing.destroy());
    outgoing.once('close', forget);
    return next();
  };
}
