import { ConfigError } from '@trunkline/config';
import { encodePrincipal, type Principal, principalHeader } from '@trunkline/identity';
import type { Clock } from '@trunkline/schedule';
import { actingFor } from '../approvals/approvals.ts';
import { createInvoke } from './invoke.ts';
import { LocalBackend } from './local-backend.ts';
import type { ScheduleBackend } from './schedule-backend.ts';
import { SwitchboardBackend } from './switchboard-backend.ts';

/** The scheduler's variables, as the option table of the service names them. */
export interface SchedulerSettings {
  agentName: string;
  schedulerBackend: string;
  schedulerDisabled: boolean;
  schedulerFireTimeoutS: number;
  schedulerInvokeUrl?: string | undefined;
  switchboardApiBase?: string | undefined;
  switchboardApiKey?: string | undefined;
  switchboardTopicPrefix?: string | undefined;
}

export interface BackendDeps {
  /** Where local jobs are stored. */
  directory: string;
  /** The address of this service. */
  url: () => string;
  /** Keys of this service, for an address of it that the settings name. */
  headers?: () => Readonly<Record<string, string>>;
  /** Lets this service call itself for others. */
  serviceToken: string;
  clock?: Clock;
  logger: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** The backend that the settings ask for; undefined when schedules are off. */
export function chooseBackend(settings: SchedulerSettings, deps: BackendDeps): ScheduleBackend | undefined {
  if (settings.schedulerDisabled) return undefined;
  if (settings.schedulerBackend === 'switchboard') return remote(settings);
  const { schedulerInvokeUrl, schedulerFireTimeoutS: timeoutS, agentName } = settings;
  const { directory, url, headers, serviceToken, clock, logger } = deps;
  const forOthers = (principal: Principal) => ({
    authorization: `Bearer ${serviceToken}`,
    [principalHeader]: encodePrincipal(actingFor(principal, 'scheduler')),
  });
  const invoke = createInvoke({
    agentName,
    url: () => schedulerInvokeUrl ?? url(),
    timeoutS,
    logger,
    // The service token goes to this very service, to no address that was written down somewhere.
    headers: schedulerInvokeUrl === undefined ? forOthers : () => headers?.() ?? {},
  });
  return new LocalBackend({
    directory,
    agentName,
    invoke,
    logger,
    ...(clock === undefined ? {} : { clock }),
  });
}

function remote(settings: SchedulerSettings): ScheduleBackend {
  const {
    agentName,
    switchboardApiBase: url,
    switchboardApiKey: apiKey,
    switchboardTopicPrefix: topicPrefix,
  } = settings;
  if (url === undefined || apiKey === undefined)
    throw new ConfigError('SCHEDULER_BACKEND is switchboard:', [
      'set SWITCHBOARD_API_BASE and SWITCHBOARD_API_KEY too',
    ]);
  return new SwitchboardBackend({ agentName, url, apiKey, topicPrefix });
}
