import { join } from 'node:path';
import type { A2aCredentials } from '@trunkline/a2a';
import { type Accounts, nameOnSurface } from '@trunkline/accounts';
import type { AuditLog } from '@trunkline/audit';
import {
  ConfigError,
  type Environment,
  type Logger,
  loadYaml,
  readVariable,
  type StartContext,
} from '@trunkline/config';
import { isLoopbackHost } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import { Policy } from '@trunkline/policy';
import { openSandbox, type Sandbox } from '@trunkline/sandbox';
import { accountsOf, auditOf, operatorOf, type Peers, type ServiceContext } from '@trunkline/service';
import type { AgentOptions } from './options.ts';
import { createOwners, type Owners } from './owners.ts';
import type { Keys } from './routes/guards.ts';
import { switchboardOf } from './scheduler/choose-backend.ts';
import type { LiveConfig } from './setup/config-file.ts';
import { type AgentConfig, type AgentSecrets, configSchema, secretsSchema } from './setup/config-schema.ts';
import { configDirectoryOf, configFileOf, findPlaces, type Places } from './setup/places.ts';
import { completeSetup, modelSettings } from './setup/setup.ts';

/** What is settled before any component starts. */
export interface AgentContext {
  options: AgentOptions;
  env: Environment | undefined;
  peers: Peers | undefined;
  operator: OperatorAccess;
  owners: Owners;
  accounts: Accounts;
  audit: AuditLog;
  /** Shown by our own services, and by this one when it calls itself. */
  serviceToken: string;
  /** The folder of the configuration. */
  directory: string;
  live: LiveConfig;
  keys: Keys;
  ui: AgentOptions['ui'];
  places: Places;
  /** Decides about the tool calls of every turn. */
  policy: Policy;
  /** Where commands, MCP servers, coding agents and plugins run. */
  sandbox: Sandbox;
  logger: Logger;
}

/** Checks keys and setup and finds a place for every store; fails when the service must not start. */
export async function createContext(
  options: AgentOptions,
  service: ServiceContext,
  live: LiveConfig,
): Promise<AgentContext> {
  const { logger, env, peers } = service;
  const directory = configDirectoryOf(options);
  const keys = readKeys(options, live.config, live.secrets, env);
  checkExposure(options, keys, logger);
  const ui = options.headless && options.ui === 'full' ? 'console' : options.ui;
  if (ui === 'none' || options.headlessSetup)
    await completeSetup(directory, modelSettings(options, live.config, live.secrets));
  const audit = auditOf(options, service);
  const places = await findPlaces(options, live.config, logger);
  const operator = operatorOf(options, service);
  const accounts = accountsOf(options, service);
  return {
    options: withSwitchboard(options, peers),
    env,
    peers,
    operator,
    owners: createOwners(
      () => ({ isShared: live.config.memory.shared, isOpen: operator.isOpen }),
      // The chat plugin names people of Discord by its own name.
      (id) =>
        (accounts.get(id)?.identities ?? []).flatMap((identity) => [
          ...new Set([identity, nameOnSurface(identity)]),
        ]),
    ),
    accounts,
    audit,
    serviceToken: peers?.serviceToken ?? crypto.randomUUID(),
    directory,
    live,
    keys,
    ui,
    places,
    policy: new Policy({ home: options.trunklineHome, logger, audit: { service: 'agent', log: audit } }),
    sandbox: openSandbox(options, {
      service: 'agent',
      hidden: [directory, configFileOf(options)],
      workspaces: [places.workspace],
      logger,
    }),
    logger,
  };
}

/** Schedules go to the peer switchboard unless the options name another one. */
function withSwitchboard(options: AgentOptions, peers: Peers | undefined): AgentOptions {
  const switchboard = peers?.find('switchboard');
  if (options.switchboardApiBase !== undefined || switchboard === undefined) return options;
  return {
    ...options,
    switchboardApiBase: switchboard.url,
    switchboardApiKey: options.switchboardApiKey ?? peers?.serviceToken,
  };
}

/** The keys that callers must show, read once at the start. */
function readKeys(
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

/** Refuses settings with which the agent would not start. */
export async function checkStart(options: AgentOptions, { env, services }: StartContext): Promise<void> {
  const { schedulerBackend, schedulerDisabled, switchboardApiBase } = options;
  const isPeer = switchboardApiBase === undefined && services.includes('switchboard');
  if (schedulerBackend === 'switchboard' && !schedulerDisabled && !isPeer) switchboardOf(options);
  if (!options.requireAuth || isLoopbackHost(options.host)) return;
  const how = { allowMissing: true, env } as const;
  const config = await loadYaml(configFileOf(options), configSchema, how);
  const secrets = await loadYaml(join(configDirectoryOf(options), 'secrets.yaml'), secretsSchema, how);
  const keys = readKeys(options, config ?? configSchema.parse({}), secrets ?? secretsSchema.parse({}), env);
  refuseExposure(options, keys);
}

/** Warns of an agent that anybody can drive; refuses it where the operator wants that. */
function checkExposure(options: AgentOptions, keys: Keys, logger: Logger): void {
  const warning = refuseExposure(options, keys);
  if (warning !== undefined) logger.warn({ host: options.host }, `SECURITY: ${warning}`);
}

function refuseExposure({ host, requireAuth }: AgentOptions, { token }: Keys): string | undefined {
  if (token !== undefined || isLoopbackHost(host)) return undefined;
  const warning = `The agent listens on ${host} and no A2A_AUTH_TOKEN is set: anyone who reaches it can drive it.`;
  if (!requireAuth) return warning;
  throw new ConfigError('The agent does not start:', [
    `${warning} Set A2A_AUTH_TOKEN, listen on 127.0.0.1, or take CORE_REQUIRE_AUTH away`,
  ]);
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
