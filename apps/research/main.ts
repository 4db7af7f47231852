import type { Environment } from '@trunkline/config';
import { runService } from '@trunkline/service';
import { ensurePages } from '@trunkline/ui/build';
import { start } from './app.ts';
import { researchOptions } from './options.ts';

/** Runs the research service alone until it is told to stop; gives the exit code. */
export function main(argv: readonly string[], env?: Environment): Promise<number> {
  return runService({
    command: 'trunkline research',
    table: researchOptions,
    argv,
    env,
    start: async (options, context) => {
      await ensurePages({ app: 'research', onBuild: () => context.logger.info('building the web page') });
      return start(options, context);
    },
  });
}
