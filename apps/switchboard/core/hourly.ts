import type { Logger } from '@trunkline/config';

const hourMs = 60 * 60 * 1000;

/** Does something now and every hour; a failure, as on a full disk, ends neither the process nor its start. */
export function hourly(work: () => void, logger: Logger): () => void {
  const run = () => {
    try {
      work();
    } catch (error) {
      logger.error({ err: error }, 'what is old could not be swept out; it is tried again in an hour');
    }
  };
  run();
  const timer = setInterval(run, hourMs).unref();
  return () => clearInterval(timer);
}
