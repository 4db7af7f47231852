import type { A2aCredentials } from '@trunkline/a2a';
import { ConfigError, type Environment, type Logger, readVariable } from '@trunkline/config';
import { isLoopbackHost } from '@trunkline/http';
import type { AgentOptions } from '../options.ts';
import type { Keys } from '../routes/guards.ts';
import type { AgentConfig, AgentSecrets } from './config-schema.ts';

/** The keys that callers must show, read once at the start. */
export function readKeys(
  options: AgentOptions,
  config: AgentConfig,
  secrets: AgentSecrets,
  env: Environment | undefined,
): Keys {
  const token = [options.authToken, secrets.auth.token, config.auth.token].find((text) => text?.trim());
  const apiKey = readVariable(apiKeyVariable(options.agentName), env);
  return { token, apiKey, operatorToken: options.operatorToken };
}

/** The variable that holds the key of the agent of that name. */
export function apiKeyVariable(agentName: string): string {
  return `${agentName.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`;
}

/** Warns of an agent that anybody can drive; refuses it where the operator wants that. */
export function checkExposure(options: AgentOptions, { token }: Keys, logger: Logger): void {
  if (token !== undefined || isLoopbackHost(options.host)) return;
  const warning = `The agent listens on ${options.host} and no A2A_AUTH_TOKEN is set: anyone who reaches it can drive it.`;
  if (options.requireAuth) {
    throw new ConfigError('The agent does not start:', [
      `${warning} Set A2A_AUTH_TOKEN, listen on 127.0.0.1, or take CORE_REQUIRE_AUTH away`,
    ]);
  }
  logger.warn({ host: options.host }, `SECURITY: ${warning}`);
}

/** What A2A asks callers for. */
export function credentialsOf({ token, apiKey }: Keys): A2aCredentials {
  return { ...(token !== undefined && { bearer: token }), ...(apiKey !== undefined && { apiKey }) };
}

/** What the scheduler shows an address of this service that the settings name. */
export function headersFor({ token, apiKey }: Keys): Record<string, string> {
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
  };
}
