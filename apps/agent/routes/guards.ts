import { type AppEnv, callerGuard, createKeyring, requireOperator } from '@trunkline/http';
import { isDirectAccount, type OperatorAccess, type Principal } from '@trunkline/identity';
import type { Hono, MiddlewareHandler } from 'hono';
import { identifyMcpClient } from './mcp-authorization.ts';
import type { McpAuthorizationRoutes } from './mcp-programs.ts';

export interface Keys {
  /** A2A_AUTH_TOKEN: everything that drives the agent asks for it. */
  token: string | undefined;
  /** <AGENT_NAME>_API_KEY: asked for besides, by the OpenAI-compatible API and A2A. */
  apiKey: string | undefined;
  /** CORE_OPERATOR_TOKEN: the operator's, for the console and what only the operator may do. */
  operatorToken?: string | undefined;
}

type Caller = 'operator' | 'agent' | 'open';

/**
 * What configures, runs programs or reveals secrets: open to the operator in person alone, also where the agent has
 * no token. Approvals are not listed: a paired approver may answer them, see routes/console/approvals.ts.
 */
const operatorRoutes: readonly [methods: string, path: string][] = [
  ['GET PUT PATCH', '/api/config'],
  ['POST', '/api/config/check'],
  ['POST', '/api/config/setup'],
  ['POST', '/api/config/test-model'],
  ['POST', '/api/config/probe-model'],
  ['PUT', '/api/config/model-profile'],
  ['POST', '/api/mcp/servers/test'],
  ['POST DELETE', '/api/mcp/servers/:name/sign-in'],
  ['POST', '/api/delegates/:name/test'],
  ['PUT DELETE', '/api/skills/:slug'],
  ['GET', '/api/audit'],
];

const guestPaths = ['/api/chat', '/v1'];

/** Guards all that is not A2A, which brings guards of its own. The feed of events stays open. */
export function mountGuards(app: Hono<AppEnv>, routes: { keys: Keys } & McpAuthorizationRoutes): void {
  const {
    keys: { token, apiKey, operatorToken },
    operator,
  } = routes;
  const common = { trustedCaller, principalOf, openCaller: (): Caller => 'open', guestPaths };
  const bearer = (entry: { key: string | undefined; caller: Caller; isOperatorOnly?: boolean }) =>
    callerGuard<Caller>({
      ...common,
      trustedCaller: (principal) =>
        entry.isOperatorOnly && isDirectAccount(principal) && principal.kind !== 'operator'
          ? undefined
          : trustedCaller(principal),
      keyring: createKeyring([entry]),
      credentials: ['bearer'],
      except: ['/api/events'],
    });
  const key = callerGuard<Caller>({
    ...common,
    keyring: createKeyring([{ key: apiKey, caller: 'agent' }]),
    credentials: ['x-api-key'],
  });
  const console = bearer(
    operatorToken === undefined
      ? { key: token, caller: 'agent' }
      : { key: operatorToken, caller: 'operator', isOperatorOnly: true },
  );
  app.use('/api/*', console);
  const mcpKey = operatorToken === undefined ? token : operatorToken;
  const mcpCaller = operatorToken === undefined ? 'agent' : 'operator';
  app.use(
    '/mcp',
    identifyMcpClient(routes),
    bearer({ key: mcpKey, caller: mcpCaller }),
    requireMember(operator),
  );
  app.use('/v1/*', bearer({ key: token, caller: 'agent' }), key);
  for (const [methods, path] of operatorRoutes) app.on(methods.split(' '), path, requireOperator(operator));
}

/** Lets members through, and the operator in person. What a service hands on may have passed a model. */
function requireMember(operator: OperatorAccess): MiddlewareHandler<AppEnv> {
  const asOperator = requireOperator(operator);
  return async (context, next) => {
    const principal = context.get('principal');
    return principal.kind === 'person' && isDirectAccount(principal) ? next() : asOperator(context, next);
  };
}

/**
 * The operator, people with an account and those for whom our own services ask show no key of the agent. Somebody
 * whose token another guard found still has to show the key that is asked for besides.
 */
function trustedCaller({ kind, via }: Principal): Caller | undefined {
  if (kind === 'operator') return 'operator';
  return via.length > 0 || kind === 'person' ? 'agent' : undefined;
}

function principalOf(caller: Caller): Principal {
  return caller === 'operator'
    ? { kind: 'operator', id: 'operator', via: [] }
    : { kind: 'agent', id: 'a2a', via: [] };
}
