import type { Environment, Logger } from '@trunkline/config';
import type { AgentOptions } from '../options.ts';
import { openLiveConfig } from './config-file.ts';
import { configDirectoryOf, configFileOf } from './places.ts';
import { completeSetup, modelSettings } from './setup.ts';

/** Checks the configuration and marks the setup complete; gives what to tell, or fails with what is missing. */
export async function runSetup(
  options: AgentOptions,
  env: Environment | undefined,
  logger: Logger,
): Promise<string> {
  const directory = configDirectoryOf(options);
  const live = await openLiveConfig({ directory, file: configFileOf(options), env, logger });
  try {
    await completeSetup(directory, modelSettings(options, live.config, live.secrets));
    return `The setup is complete; ${live.file} is valid.`;
  } finally {
    await live.close();
  }
}
