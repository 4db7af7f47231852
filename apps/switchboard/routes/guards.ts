import { escapeSegment, type Message } from '@trunkline/bus';
import { type AppEnv, callerGuard, requireOperator } from '@trunkline/http';
import {
  isDirectAccount,
  isDirectOperator,
  maySee,
  type OperatorAccess,
  type Principal,
  quotaKey,
} from '@trunkline/identity';
import { Quota } from '@trunkline/storage';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { type Caller, guest, guestFor, maySee as mayRead, operator } from '../access/caller.ts';
import type { Keys } from '../access/keys.ts';
import { ownerOfMessage } from '../core/messages.ts';
import { retryAfterSeconds, switchboardErrors } from '../errors.ts';

export type SwitchboardEnv = AppEnv<Caller>;

/** Keys are checked here only; other paths are public. */
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

/**
 * Every guarded route, and who may use it without a key. `operator`: it configures, executes, reveals files or repeats
 * requests of others. `anyone`: messages, questions to agents, reading; some handlers check more (approvals, commands,
 * schedules of others).
 */
export const routeAccess: Readonly<Record<string, 'operator' | 'anyone'>> = {
  'POST /publish': 'anyone',
  'POST /api/a2a/input': 'anyone',
  'GET /api/ab-tests': 'anyone',
  'POST /api/agent/ask-human': 'anyone',
  'GET /api/agents': 'anyone',
  'POST /api/agents': 'operator',
  'PUT /api/agents/:name': 'operator',
  'DELETE /api/agents/:name': 'operator',
  'GET /api/alerts': 'anyone',
  'GET /api/bus/history': 'anyone',
  'GET /api/bus/stream': 'anyone',
  'GET /api/ceremonies': 'anyone',
  'POST /api/ceremonies': 'operator',
  'GET /api/ceremonies/:id': 'anyone',
  'POST /api/ceremonies/:id/run': 'anyone',
  'PUT /api/ceremonies/:name': 'operator',
  'DELETE /api/ceremonies/:name': 'operator',
  'GET /api/changes': 'operator',
  'GET /api/changes/:id': 'operator',
  'POST /api/changes/:id/undo': 'operator',
  'GET /api/cluster': 'anyone',
  'GET /api/dead-letters': 'anyone',
  'POST /api/dead-letters/:id/replay': 'operator',
  'GET /api/deliveries': 'anyone',
  'POST /api/deliveries/:id/replay': 'operator',
  'POST /api/external-agents': 'operator',
  'PUT /api/external-agents/:name': 'operator',
  'DELETE /api/external-agents/:name': 'operator',
  'GET /api/flows': 'anyone',
  'GET /api/flows/:id': 'anyone',
  'POST /api/flows/:id/replay': 'operator',
  'POST /api/flows/:id/retry': 'operator',
  'GET /api/hitl/pending': 'anyone',
  'GET /api/incidents': 'anyone',
  'POST /api/incidents': 'anyone',
  'POST /api/incidents/:id/resolve': 'anyone',
  'GET /api/mcp-servers': 'anyone',
  'POST /api/mcp-servers': 'operator',
  'GET /api/mcp-servers/:name': 'anyone',
  'PUT /api/mcp-servers/:name': 'operator',
  'DELETE /api/mcp-servers/:name': 'operator',
  'POST /api/mcp-servers/:name/enabled': 'operator',
  'POST /api/mcp-servers/:name/test': 'operator',
  'POST /api/mcp-servers/test': 'operator',
  'POST /api/onboard': 'operator',
  'GET /api/plugins': 'anyone',
  'GET /api/projects': 'anyone',
  'GET /api/routes': 'anyone',
  'POST /api/routes': 'operator',
  'PUT /api/routes/:name': 'operator',
  'DELETE /api/routes/:name': 'operator',
  'POST /api/routes/test': 'anyone',
  'GET /api/schedules': 'anyone',
  'POST /api/schedules': 'anyone',
  'GET /api/schedules/:id': 'anyone',
  'PUT /api/schedules/:id': 'anyone',
  'DELETE /api/schedules/:id': 'anyone',
  'POST /api/schedules/:id/pause': 'anyone',
  'POST /api/schedules/:id/resume': 'anyone',
  'POST /api/schedules/:id/run-now': 'anyone',
  'POST /api/schedules/preview': 'anyone',
  'GET /api/settings/global': 'anyone',
  'GET /api/vectors': 'anyone',
  'POST /api/vectors/documents': 'operator',
  'GET /api/vectors/search': 'anyone',
  'GET /api/workspace': 'anyone',
  'GET /api/workspace/files/:kind/:name': 'operator',
  'PUT /api/workspace/files/:kind/:name': 'operator',
  'POST /api/workspace/files/:kind/:name/check': 'operator',
  'POST /v1/chat/completions': 'anyone',
  'GET /v1/models': 'anyone',
  'GET /v1/models/:id': 'anyone',
  'POST /v1/responses': 'anyone',
  'GET /v1/responses/:id': 'anyone',
  'DELETE /v1/responses/:id': 'anyone',
  'POST /v1/responses/:id/cancel': 'anyone',
  'GET /v1/responses/:id/input_items': 'anyone',
  'POST /v1/responses/input_tokens': 'anyone',
  'POST /v1/responses/compact': 'anyone',
  'POST /v1/conversations': 'anyone',
  'GET /v1/conversations/:id': 'anyone',
  'POST /v1/conversations/:id': 'anyone',
  'DELETE /v1/conversations/:id': 'anyone',
  'POST /v1/conversations/:id/items': 'anyone',
  'GET /v1/conversations/:id/items': 'anyone',
  'GET /v1/conversations/:id/items/:item': 'anyone',
  'DELETE /v1/conversations/:id/items/:item': 'anyone',
};

/** A2A checks credentials itself behind this. */
const a2aPath = /^\/(v1\/)?(a2a(\/|$)|message:|tasks(\/|$)|card$|extendedAgentCard$)/;

/** Scoped keys may use these, within their patterns; other guarded paths are the operator's. */
const scopedPaths: ReadonlySet<string> = new Set([
  '/publish',
  '/api/bus/stream',
  '/api/bus/history',
  '/api/agent/ask-human',
]);

/** What guests may use: asking agents. What they publish is checked there. */
const guestPaths = [
  '/publish',
  '/api/agents',
  '/v1',
  '/a2a',
  '/message:send',
  '/message:stream',
  '/tasks',
  '/extendedAgentCard',
];

/** Scoped keys own schedules, too. */
export function isScopedPath(path: string): boolean {
  return scopedPaths.has(path) || path === '/api/schedules' || path.startsWith('/api/schedules/');
}

export interface GuardParts {
  keys: Keys;
  access: OperatorAccess;
  /** The name under which the agent service owns schedules, as it is now. */
  agentName: () => string | undefined;
  /** What each caller may send in a day. */
  quota: Quota;
}

export function mountGuards(app: Hono<SwitchboardEnv>, { keys, access, agentName, quota }: GuardParts): void {
  const identify = callerGuard<Caller>({
    keyring: keys.keyring,
    openCaller: keys.openCaller,
    trustedCaller: trustedCallers(agentName),
    guestPaths,
    principalOf: ({ name, admin }) => ({ kind: admin ? 'operator' : 'agent', id: `key:${name}`, via: [] }),
  });
  for (const path of guardedPaths) app.use(path, identify, endWithKey(keys), admit(access), countSent(quota));
}

/** Where messages come in. */
const messagePaths = ['/publish', '/v1/*', '/a2a', '/a2a/*', '/message:send', '/message:stream', '/tasks/*'];

/** Until the router listens a message would be stored, and on a new bus brought to nobody. */
export function mountStarting(app: Hono<SwitchboardEnv>, isStarting: () => boolean): void {
  let hasStarted = false;
  const refuse: MiddlewareHandler<SwitchboardEnv> = (context, next) => {
    hasStarted ||= !isStarting();
    if (hasStarted || context.req.method !== 'POST') return next();
    throw switchboardErrors.bus_unavailable(
      { words: 'The switchboard takes no messages yet: it starts, or waits for its bus; see /healthz.' },
      { headers: { 'retry-after': String(retryAfterSeconds) } },
    );
  };
  for (const path of messagePaths) app.use(path, refuse);
}

/** Whoever has sent too much may still say no to an agent, pause what is theirs and close an incident, in few words. */
const isUncounted = routeMatcher([
  'POST /api/a2a/input',
  'POST /api/schedules/:id/pause',
  'POST /api/incidents/:id/resolve',
]);
const uncountedBytes = 4096;
/** So much of that in a day; beyond it, it counts as everything else. */
const mostUncountedBytes = 4 * 2 ** 20;
const dayMs = 86_400_000;
/** What a request takes beside its body: the message around it, and what the switchboard tells of it. */
const bytesBesideBody = 512;

/** Whatever is sent here stays in the journal and the histories for days. The gateway counts what A2A brings. */
function countSent(quota: Quota): MiddlewareHandler<SwitchboardEnv> {
  const free = new Quota({
    limitBytes: mostUncountedBytes,
    usedBy: () => 0,
    recountMs: dayMs,
    recountFullMs: dayMs,
  });
  const count = (context: Context<SwitchboardEnv>, bodyBytes: number) => {
    const [owner, bytes] = [quotaKey(context.get('principal')), bodyBytes + bytesBesideBody];
    const isFree = bodyBytes <= uncountedBytes && isUncounted(context.req.method, context.req.path);
    if (isFree && free.refusal(owner, bytes) === undefined) return;
    const refusal = quota.refusal(owner, bytes);
    if (refusal !== undefined) throw switchboardErrors.quota_exceeded({ refusal });
  };
  return async (context, next) => {
    const { method, path } = context.req;
    if ((method === 'POST' || method === 'PUT') && !a2aPath.test(path))
      count(
        context,
        Number(context.req.header('content-length') ?? Buffer.byteLength(await context.req.text())),
      );
    await next();
  };
}

/**
 * The operator may also use their own key. Who speaks for them through another service may ask, not command, and so may
 * people with an account; the agent service itself owns its schedules.
 */
function trustedCallers(agentName: () => string | undefined): (principal: Principal) => Caller | undefined {
  let agent: Caller | undefined;
  return (principal) => {
    if (isDirectOperator(principal)) return operator;
    if (principal.kind === 'service' && principal.id === 'agent') {
      const name = agentName();
      if (agent?.name !== name) agent = name === undefined ? undefined : scheduler(name);
      return agent;
    }
    return principal.kind === 'operator' || isDirectAccount(principal) ? guest : undefined;
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

/** Routes in no list are the operator's. */
function admit(access: OperatorAccess): MiddlewareHandler<SwitchboardEnv> {
  const isOpenRoute = routeMatcher(
    Object.keys(routeAccess).filter((route) => routeAccess[route] === 'anyone'),
  );
  const operatorOnly = requireOperator(access);
  return (context, next) => {
    const { admin, guest: isGuest } = context.get('caller');
    const { method, path } = context.req;
    if (admin) {
      // TRUNKLINE_OPEN makes everybody the operator.
      if (access.isOpen && context.get('principal').kind === 'anonymous')
        context.set('principal', { kind: 'operator', id: 'operator', via: [] });
      return next();
    }
    if (isGuest) {
      // Schedules and conversations go by this name: everybody has their own.
      context.set('caller', guestFor(context.get('principal')));
      const isOpen = a2aPath.test(path) || isOpenRoute(method, path);
      return isOpen ? next() : operatorOnly(context, next);
    }
    if (isScopedPath(path)) return next();
    throw switchboardErrors.admin_only();
  };
}

/**
 * Whether the caller of a request may see a message: the operator all, a key the topics of its patterns, everybody else
 * what was done for them or for nobody.
 */
export function messageFilter(context: Context<SwitchboardEnv>): (message: Message) => boolean {
  const [caller, principal] = [context.get('caller'), context.get('principal')];
  return (message) =>
    mayRead(caller, message.topic) && (!caller.guest || maySee(principal, ownerOfMessage(message)));
}

/** Routes are written as `METHOD /path/:parameter`. */
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

/** Cuts streams and long polls when their key is revoked or changed. */
function endWithKey(keys: Keys): MiddlewareHandler<SwitchboardEnv> {
  return (context, next) => {
    // The busiest route answers at once.
    if (context.req.path === '/publish') return next();
    const { outgoing } = context.env;
    const forget = keys.onRevoked(context.get('caller'), () => outgoing.destroy());
    outgoing.once('close', forget);
    return next();
  };
}
