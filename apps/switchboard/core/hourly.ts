import type { Logger } from '@trunkline/config';

const hourMs = 60 * 60 * 1000;

/**
 * Does something now and every hour; a failure, as on a full disk, ends neither the process nor its start.
 * Work that gives true has more to do and goes on when others had their turn.
 */
export function hourly(work: () => unknown, logger: Logger): () => void {
  let more: NodeJS.Immediate | undefined;
  const run = () => {
    try {
      if (work() === true) more = setImmediate(run);
    } catch (error) {
      logger.error({ err: error }, 'failed to delete old rows; retrying in an hour');
    }
  };
  run();
  const timer = setInterval(run, hourMs).unref();
  return () => {
    clearInterval(timer);
    clearImmediate(more);
  };
}
