import type { Environment } from '@trunkline/config';
import { runService } from '@trunkline/service';
import { ensurePages } from '@trunkline/ui/build';
import { start } from './app.ts';
import { switchboardOptions } from './options.ts';

/** Runs the switchboard alone until a signal stops it; returns the exit code. */
export function main(argv: readonly string[], env?: Environment): Promise<number> {
  return runService({
    command: 'trunkline switchboard',
    table: switchboardOptions,
    argv,
    env,
    start: async (options, context) => {
      await ensurePages({ app: 'switchboard', onBuild: () => context.logger.info('building the web page') });
      return start(options, context);
    },
  });
}
