import type { Environment, Logger } from '@trunkline/config';
import type { OperatorAccess } from '@trunkline/identity';
import { operatorOf, type Peers, type ServiceContext } from '@trunkline/service';
import type { AgentOptions } from './options.ts';
import type { Keys } from './routes/guards.ts';
import { checkExposure, readKeys } from './setup/access.ts';
import type { LiveConfig } from './setup/config-file.ts';
import { configDirectoryOf, findPlaces, type Places } from './setup/places.ts';
import { completeSetup, modelSettings } from './setup/setup.ts';

/** What is settled before any component starts. */
export interface AgentContext {
  options: AgentOptions;
  env: Environment | undefined;
  peers: Peers | undefined;
  operator: OperatorAccess;
  /** Shown by our own services, and by this one when it calls itself. */
  serviceToken: string;
  /** The folder of the configuration. */
  directory: string;
  live: LiveConfig;
  keys: Keys;
  ui: AgentOptions['ui'];
  places: Places;
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
  return {
    options: withSwitchboard(options, peers),
    env,
    peers,
    operator: operatorOf(options, service),
    serviceToken: peers?.serviceToken ?? crypto.randomUUID(),
    directory,
    live,
    keys,
    ui,
    places: await findPlaces(options, live.config, logger),
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
