import { availableParallelism, loadavg } from 'node:os';
import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import { Alarm } from '../call/clock.ts';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { SpeechParts } from './speech.ts';

/** Long enough for the start of all services to be over. */
const firstAfterMs = 20_000;
const againAfterMs = 60_000;
/** Some machines are never idle, and a container sees the load of all others on its host. */
const mostIdleWaitMs = 3_600_000;

interface IdleMeasurementDeps {
  speech: Pick<SpeechParts, 'chooseVoice'>;
  sessions: Pick<SessionRegistry, 'size' | 'onOpen'>;
  /** Something else keeps this machine busy: voices would seem slower than they are. */
  isMachineBusy?(): boolean;
  clock: Clock;
  logger: Logger;
}

/**
 * Measures the voices of this machine when nobody calls and nothing else runs, or after an hour whatever else runs;
 * gives way to every caller.
 */
export function startIdleMeasurement(deps: IdleMeasurementDeps) {
  const { speech, sessions, isMachineBusy = hasLoad, clock, logger } = deps;
  const alarm = new Alarm(clock);
  let waitedMs = firstAfterMs;
  const wait = () => {
    waitedMs += againAfterMs;
    alarm.set(againAfterMs, start);
  };
  let running = { controller: new AbortController(), over: Promise.resolve() };
  let stopped = false;
  const measure = async ({ signal }: AbortController) => {
    try {
      const isBusy = isMachineBusy();
      if (sessions.size > 0 || (isBusy && waitedMs < mostIdleWaitMs)) wait();
      else await speech.chooseVoice(signal, { isBusy });
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ err: error }, 'failed to measure the voices; trying again at the next start');
      else if (!stopped) wait();
    }
  };
  const start = () => {
    const controller = new AbortController();
    running = { controller, over: measure(controller) };
  };
  sessions.onOpen(() => running.controller.abort(new Error('a caller came')));
  alarm.set(firstAfterMs, start);
  return {
    async stop(): Promise<void> {
      stopped = true;
      alarm.cancel();
      running.controller.abort(new Error('the service stops'));
      await running.over;
    },
  };
}

/** The load of the last minute; 0 on Windows, which has none. */
function hasLoad(): boolean {
  return (loadavg()[0] ?? 0) > availableParallelism() / 2;
}
