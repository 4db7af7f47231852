import type { Bus, Draft } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Problem } from './problems.ts';

/** Says in the log and on the bus that a file of the workspace cannot be used. */
export async function reportProblem(bus: Bus, logger: Logger, { file, error }: Problem): Promise<void> {
  logger.error({ file }, error);
  await announce(bus, logger, {
    topic: 'system.error',
    payload: { source: 'workspace', plugin: 'workspace', error, file },
  });
}

/** Publishes what nobody waits for; a failure is only logged. */
export async function announce(bus: Bus, logger: Logger, draft: Draft): Promise<void> {
  try {
    await bus.publish(draft);
  } catch (error) {
    logger.warn({ err: error, topic: draft.topic }, 'could not publish');
  }
}
