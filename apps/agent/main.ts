import { ConfigError, createLogger, type Environment, readOptions } from '@trunkline/config';
import { runService } from '@trunkline/service';
import { ensurePages } from '@trunkline/ui/build';
import { start } from './app.ts';
import { agentOptions } from './options.ts';
import { runSetup } from './setup/setup.ts';

/** Runs the agent service until a signal stops it, or its setup with `--setup`. Returns the exit code. */
export async function main(argv: readonly string[], env?: Environment): Promise<number> {
  if (argv.includes('--setup')) return setUp(argv, env);
  return runService({
    command: 'trunkline agent',
    table: agentOptions,
    argv,
    env,
    // Without pages there is nothing that a browser could sign in to.
    signInUrl: ({ url }, { ui }) => (ui === 'none' ? undefined : url),
    start: async (options, context) => {
      if (options.ui !== 'none')
        await ensurePages({ app: 'agent', onBuild: () => context.logger.info('building the web page') });
      return start(options, context);
    },
  });
}

async function setUp(argv: readonly string[], env: Environment | undefined): Promise<number> {
  try {
    const options = readOptions(agentOptions, { argv, ...(env && { env }) });
    const logger = createLogger({ name: 'agent', level: options.logLevel });
    console.log(await runSetup(options, env, logger));
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    return 2;
  }
}
