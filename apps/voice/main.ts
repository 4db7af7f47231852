import type { Environment } from '@trunkline/config';
import { runService } from '@trunkline/service';
import { ensurePages } from '@trunkline/ui/build';
import { start } from './app.ts';
import { voiceOptions } from './options.ts';

/** Runs the voice service alone until it is told to stop; gives the exit code. */
export function main(argv: readonly string[], env?: Environment): Promise<number> {
  return runService({
    command: 'trunkline voice',
    table: voiceOptions,
    argv,
    env,
    start: async (options, context) => {
      await ensurePages({ app: 'voice', onBuild: () => context.logger.info('building the web page') });
      return start(options, context);
    },
  });
}
