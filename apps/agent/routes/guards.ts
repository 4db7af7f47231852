import { type AppEnv, callerGuard, createKeyring } from '@trunkline/http';
import type { Hono } from 'hono';

export interface Keys {
  /** A2A_AUTH_TOKEN: everything that drives the agent asks for it. */
  token: string | undefined;
  /** <AGENT_NAME>_API_KEY: asked for besides, by the OpenAI-compatible API and A2A. */
  apiKey: string | undefined;
  /** CORE_OPERATOR_TOKEN: opens what the operator does, instead of the token that other agents hold. */
  operatorToken?: string | undefined;
}

/** Guards all that is not A2A, which brings guards of its own. The feed of events stays open. */
export function mountGuards(app: Hono<AppEnv>, { token, apiKey, operatorToken = token }: Keys): void {
  const bearer = (key: string | undefined) =>
    callerGuard({
      keyring: createKeyring([{ key, caller: 'operator' }]),
      credentials: ['bearer'],
      openCaller: () => 'operator',
      except: ['/api/events'],
    });
  const key = callerGuard({
    keyring: createKeyring([{ key: apiKey, caller: 'operator' }]),
    credentials: ['x-api-key'],
    openCaller: () => 'operator',
  });
  app.use('/api/*', bearer(operatorToken));
  app.use('/mcp', bearer(operatorToken));
  app.use('/v1/*', bearer(token), key);
}
