import type { Environment } from '@trunkline/config';
import { runService } from '@trunkline/service';
import { ensurePages } from '@trunkline/ui/build';
import { introduce, startFleet } from '../fleet/fleet.ts';
import { upOptions } from '../options.ts';

/** Runs all four services in one process until it is told to stop. */
export function main(argv: readonly string[], env: Environment): Promise<number> {
  return runService({
    command: 'trunkline up',
    table: upOptions,
    argv,
    env,
    followsSettings: true,
    start: async (options, { logger, hide, afterAnnouncement }) => {
      for (const app of ['voice', 'agent', 'research', 'switchboard'] as const) {
        await ensurePages({ app, onBuild: () => logger.info({ service: app }, 'building the web page') });
      }
      return startFleet({ options, env, logger, hide, afterAnnouncement });
    },
    signInUrl: ({ members, url }) => members.find(({ name }) => name === 'agent')?.url ?? url,
    members: ({ members }) => members,
    announce: introduce,
  });
}
