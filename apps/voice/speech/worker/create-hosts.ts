import type { Logger } from '@trunkline/config';
import { WorkerHost } from './host.ts';

/** Pieces of work that may wait for one model. */
const mostWaiting = 64;
/** Long enough to check and load the largest model on a busy machine. */
const timeoutMs = 60_000;

export type CreateHost = (name: string, script: URL, settings?: object) => WorkerHost;

/** Makes the workers of all models alike; none is started before it is needed. */
export function createHosts(logger: Logger): CreateHost {
  return (name, script, settings = {}) =>
    new WorkerHost({ name, script, settings, mostWaiting, timeoutMs, logger });
}
