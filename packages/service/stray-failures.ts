import type { Logger } from '@trunkline/config';

/** The line in the log, for those who look for it. */
export const strayFailure = 'something failed that nobody waited for; it is a defect, please report it';

/** A promise that fails unseen must not end the calls, tasks and jobs of everybody else: by itself Node would end the process. */
export function outliveStrayFailures(logger: Logger): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, strayFailure));
}
