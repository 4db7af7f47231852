import { type AppEnv, callerGuard, createKeyring } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Hono } from 'hono';

export interface Keys {
  /** A2A_AUTH_TOKEN: everything that drives the agent asks for it. */
  token: string | undefined;
  /** <AGENT_NAME>_API_KEY: asked for besides, by the OpenAI-compatible API and A2A. */
  apiKey: string | undefined;
  /** CORE_OPERATOR_TOKEN: opens what the operator does, instead of the token that other agents hold. */
  operatorToken?: string | undefined;
}

type Caller = 'operator' | 'agent' | 'open';

/** Guards all that is not A2A, which brings guards of its own. The feed of events stays open. */
export function mountGuards(app: Hono<AppEnv>, { token, apiKey, operatorToken }: Keys): void {
  const common = { trustedCaller, principalOf, openCaller: (): Caller => 'open' };
  const bearer = (entry: { key: string | undefined; caller: Caller }) =>
    callerGuard<Caller>({
      ...common,
      keyring: createKeyring([entry]),
      credentials: ['bearer'],
      except: ['/api/events'],
    });
  const key = callerGuard<Caller>({
    ...common,
    keyring: createKeyring([{ key: apiKey, caller: 'agent' }]),
    credentials: ['x-api-key'],
  });
  const operator = bearer(
    operatorToken === undefined
      ? { key: token, caller: 'agent' }
      : { key: operatorToken, caller: 'operator' },
  );
  app.use('/api/*', operator);
  app.use('/mcp', operator);
  app.use('/v1/*', bearer({ key: token, caller: 'agent' }), key);
}

/** The operator and those for whom our own services ask show no key of the agent. */
function trustedCaller({ kind }: Principal): Caller {
  return kind === 'operator' ? 'operator' : 'agent';
}

function principalOf(caller: Caller): Principal {
  return caller === 'operator'
    ? { kind: 'operator', id: 'operator', via: [] }
    : { kind: 'agent', id: 'a2a', via: [] };
}
