import { keyFacts } from '@trunkline/http';
import { type Exposure, withGrpcPort } from '@trunkline/service';
import { apiKeyVariable } from './context.ts';
import type { AgentOptions } from './options.ts';
import type { Keys } from './routes/guards.ts';

/** How others reach the service. */
export function agentExposures(
  { host, agentName, grpcPort }: AgentOptions,
  { token, apiKey, operatorToken }: Keys,
): Exposure[] {
  const given = {
    A2A_AUTH_TOKEN: token,
    CORE_OPERATOR_TOKEN: operatorToken,
    [apiKeyVariable(agentName)]: apiKey,
  };
  const keys = Object.fromEntries(
    Object.entries(given).map(([variable, key]) => [variable, key === undefined ? undefined : keyFacts(key)]),
  );
  return withGrpcPort(
    { name: 'agent', host, isOpen: token === undefined, variable: 'A2A_AUTH_TOKEN', keys },
    grpcPort,
  );
}
