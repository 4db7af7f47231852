import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { invalidParams, type SendCommand } from '@trunkline/a2a';
import { ConfigError } from '@trunkline/config';
import { createGuardedFetch, HttpError } from '@trunkline/http';
import {
  type AccountAccess,
  decodePrincipal,
  encodePrincipal,
  handedOn,
  ownerKey,
  type Principal,
  principalHeader,
  readOrCreateSecret,
  roleOf,
  scheduleName,
  schedulesOf,
  withOrigins,
} from '@trunkline/identity';
import { type Clock, isoTime, parseSchedule, systemClock } from '@trunkline/schedule';
import { actingFor } from '../approvals/approvals.ts';
import { type Actor, operatorActor } from '../owners.ts';
import { createInvoke, type DueJob } from './invoke.ts';
import { LiveSeals } from './live-seals.ts';
import { LocalBackend, operator } from './local-backend.ts';
import { checkSchedule, type ScheduleBackend, type Schedules } from './schedule-backend.ts';

const TIMEOUT_MS = 15_000;

const TIMEZONE = 'UTC';

/** Counts only where the key is the token between our own services; others ignore it. */
const asAgent = handedOn({ kind: 'service', id: 'agent', via: [] }, 'agent');

/** The switchboard has stored nothing of what it was sent. */
class SwitchboardRefusal extends Error {}

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
  /** The home of the installation. */
  home: string;
  owner?: string;
  isOwn?: boolean;
  /** The address of this service. */
  url: () => string;
  /** Keys of this service, for an address of it that the settings name. */
  headers?: () => Readonly<Record<string, string>>;
  /** Whether the switchboard that stores schedules is one of our own, which shows the service token. */
  isPeer?: boolean;
  /** Lets this service call itself for others. */
  serviceToken: string;
  current?: AccountAccess['current'];
  clock?: Clock;
  logger: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** The backend that the settings ask for; undefined when schedules are off. */
export function chooseBackend(settings: SchedulerSettings, deps: BackendDeps): ScheduleBackend | undefined {
  if (settings.schedulerDisabled) return undefined;
  if (settings.schedulerBackend === 'switchboard') return switchboardBackend(settings, deps);
  const { schedulerInvokeUrl, schedulerFireTimeoutS: timeoutS, agentName } = settings;
  const { directory, owner, isOwn, url, headers, serviceToken, current, clock, logger } = deps;
  const forOthers = ({ jobId, principal }: DueJob) => ({
    authorization: `Bearer ${serviceToken}`,
    [principalHeader]: encodePrincipal(actingFor(principal, scheduleName(jobId))),
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
    ...{ directory, owner, isOwn },
    agentName,
    invoke,
    logger,
    ...(current && { current }),
    ...(clock === undefined ? {} : { clock }),
  });
}

/** Where schedules go with SCHEDULER_BACKEND=switchboard. */
export function switchboardOf({ switchboardApiBase: url, switchboardApiKey: apiKey }: SchedulerSettings) {
  if (url === undefined || apiKey === undefined)
    throw new ConfigError('SCHEDULER_BACKEND is switchboard:', [
      'set SWITCHBOARD_API_BASE and SWITCHBOARD_API_KEY too',
    ]);
  return { url, apiKey };
}

/** Hands schedules to a switchboard, which keeps them and sends the agent a message when one fires. */
function switchboardBackend(settings: SchedulerSettings, deps: BackendDeps): ScheduleBackend {
  const { home, directory, clock = systemClock, isPeer = false, logger } = deps;
  const { current = (principal) => principal } = deps;
  const { agentName, switchboardTopicPrefix: topicPrefix = `cron.${agentName}` } = settings;
  const { url, apiKey } = switchboardOf(settings);
  const { hostname } = new URL(url);
  // Stays the same over restarts, and goes to nobody.
  const secret = readOrCreateSecret(home, 'schedule-secret');
  const seals = new LiveSeals(join(directory, 'switchboard-seals.db'), { now: () => clock.now() });
  const fetch = createGuardedFetch({ allowedHosts: [hostname], timeoutMs: TIMEOUT_MS, maxRedirects: 0 });
  const command = async (payload: object): Promise<void> => {
    const response = await fetch(new URL('publish', url.endsWith('/') ? url : `${url}/`), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': apiKey,
        [principalHeader]: encodePrincipal(asAgent),
      },
      body: JSON.stringify({ topic: 'command.schedule', payload }),
    });
    if (response.status === 401 || response.status === 403)
      throw new SwitchboardRefusal('the switchboard refuses the key: check SWITCHBOARD_API_KEY.');
    const words = `the switchboard answered with status ${response.status}.`;
    if (response.status >= 500) throw new Error(words);
    if (response.status >= 300) throw new SwitchboardRefusal(words);
  };
  const schedulesOf = (actor: Actor): Schedules => ({
    async add(given) {
      const checked = checkSchedule(given, { agentName, timezone: TIMEZONE, now: clock.now() });
      const { prompt: content, schedule, timezone } = checked;
      const id = withPrefix(checked.id, agentName, actor);
      const asker = given.principal ?? operator;
      const seal = sealAsker(
        { principal: asker, schedule, timezone, sessionId: given.sessionId },
        { id, prompt: content },
        secret,
      );
      const payload = {
        ...{ content, channel: 'a2a', agent_name: agentName, scheduler_job_id: id },
        [askerField]: seal,
        // For the switchboard, whose messages about its runs are marked with them.
        ...(asker.origins && { origins: asker.origins }),
      };
      const topic = `${topicPrefix}.${id}`;
      // Before the switchboard has it, as it may be due at once.
      seals.add(id, seal, { schedule, timezone, owner: actor.owner });
      try {
        await command({ action: 'add', id, schedule, timezone, topic, payload });
      } catch (error) {
        // Without an answer nobody knows which of two the switchboard has: both count, until the next change of the schedule.
        if (error instanceof SwitchboardRefusal) seals.removeOne(id, seal);
        throw error;
      }
      seals.remove(id, { except: seal });
      return { id, next: new Date(checked.next).toISOString() };
    },
    // The switchboard answers on its bus, which does not reach here.
    list: async () => [],
    // Only ids of this agent are ever sent. Whether there was such a job is not answered.
    async cancel(id) {
      if (!isSeen(id, agentName, actor)) return false;
      await command({ action: 'remove', id });
      seals.remove(id);
      return true;
    },
  });
  return {
    ...schedulesOf(operatorActor),
    for: schedulesOf,
    receive: (command) =>
      receiveRun(command, { secret, seals, current, isPeer, now: () => clock.now(), logger }),
    // The switchboard fires; there is nothing to start here.
    start: () => undefined,
    stop: async () => seals.close(),
  };
}

/** The switchboard keeps no owner, so the ids of people hold a mark of theirs: `ada-u1a2b3c4d5e-`. */
function withPrefix(id: string, agentName: string, { owner }: Actor): string {
  const prefix = `${agentName}-${owner.startsWith('person:') ? `${markOf(owner)}-` : ''}`;
  if (id.startsWith(prefix)) return id;
  return prefix + (id.startsWith(`${agentName}-`) ? id.slice(agentName.length + 1) : id);
}

function isSeen(id: string, agentName: string, { viewer }: Actor): boolean {
  if (!id.startsWith(`${agentName}-`)) return false;
  const [, mark] = /^(u[0-9a-f]{10})-/.exec(id.slice(agentName.length + 1)) ?? [];
  return (
    viewer.kind === 'operator' || (mark ?? '') === (viewer.kind === 'person' ? markOf(ownerKey(viewer)) : '')
  );
}

function markOf(owner: string): string {
  return `u${createHash('sha256').update(owner).digest('hex').slice(0, 10)}`;
}

/** The field of a message under which the asker of a schedule goes to the switchboard and comes back. */
const askerField = 'on_behalf_of';

interface Job {
  id: string;
  prompt: string;
}

/** What the agent has to know about a job again when it runs. */
interface Asked {
  /** Who asked for it, with what its prompt was drawn from. */
  principal: Principal;
  schedule: string;
  timezone: string;
  /** The conversation in which it was asked for. */
  sessionId?: string | undefined;
}

/** Good for this very job and prompt alone; two of the same schedule differ. */
function sealAsker({ principal, ...rest }: Asked, job: Job, secret: string): string {
  const fields = JSON.stringify({ ...rest, principal: encodePrincipal(principal), nonce: randomUUID() });
  const stated = Buffer.from(fields).toString('base64url');
  return `${stated}.${signatureOf(stated, job, secret)}`;
}

function openAsker(sealed: unknown, job: Job, secret: string): Asked | undefined {
  const [stated = '', given = ''] = typeof sealed === 'string' ? sealed.split('.') : [];
  const [wanted, found] = [signatureOf(stated, job, secret), given].map((text) => Buffer.from(text));
  const isOurs = wanted !== undefined && found?.length === wanted.length && timingSafeEqual(wanted, found);
  if (!isOurs) return undefined;
  const { principal, ...rest } = JSON.parse(Buffer.from(stated, 'base64url').toString());
  // Of another version of this program it may hold something else.
  const asker = typeof principal === 'string' ? decodePrincipal(principal) : undefined;
  return asker && { ...rest, principal: asker };
}

function signatureOf(stated: string, { id, prompt }: Job, secret: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['schedule', id, prompt, stated]))
    .digest('base64url');
}

interface RunReceiver {
  secret: string;
  /** Those of schedules that were cancelled count no more. */
  seals: Pick<LiveSeals, 'isLive' | 'prolong'>;
  current: AccountAccess['current'];
  /** Whether the switchboard is one of our own, which proves its runs by the service token. */
  isPeer: boolean;
  now: () => number;
  logger: { warn(fields: object, message: string): void };
}

/**
 * A run of a schedule that comes back from the switchboard is done for whoever asked for it, with the rights that they
 * have by then, and never in person. What cannot be proven, as the prompt was changed on the way or nothing is due,
 * counts as text from outside.
 */
function receiveRun(command: SendCommand, receiver: RunReceiver): SendCommand {
  const { message, principal } = command;
  const given = { ...message.metadata, ...command.metadata };
  const sealed = given[askerField];
  if (sealed === undefined) return command;
  const metadata = withoutRun(given);
  const plain = { ...command, metadata, message: { ...message, metadata: withoutRun(message.metadata) } };
  const id = String(metadata.scheduler_job_id);
  // It begins a conversation of its own, and answers nothing.
  const isRun = message.taskId === undefined && message.contextId === undefined;
  const prompt = message.parts.map((part) => (part.type === 'text' ? part.text : undefined)).join('\n');
  const opened =
    isRun && roleOf(principal) !== 'guest' ? openAsker(sealed, { id, prompt }, receiver.secret) : undefined;
  const isLive = opened !== undefined && receiver.seals.isLive(id, String(sealed));
  if (opened !== undefined && !isLive)
    receiver.logger.warn({ schedule: id }, 'schedule is not live; running it as text from outside');
  const asked = isLive ? opened : undefined;
  const run = asked && runOf(command, { id, asked, receiver });
  if (asked === undefined || run === undefined)
    return { ...plain, principal: withOrigins(principal, [{ kind: 'schedule', source: id }]) };
  receiver.seals.prolong(id, String(sealed));
  const { sessionId, timezone } = asked;
  const own = scheduleName(id);
  const asker = actingFor(accountOf(asked.principal, receiver.current), own);
  const shown = {
    ...(timezone !== 'UTC' && { timezone }),
    ...(sessionId !== undefined && { scheduled_in: sessionId }),
  };
  return {
    ...plain,
    ...run,
    metadata: { ...metadata, ...shown },
    principal: withOrigins(
      principal.via.filter((by) => by !== own).reduce(handedOn, asker),
      principal.origins,
    ),
  };
}

/** What the agent itself states about a run. */
function withoutRun(metadata: SendCommand['metadata'] = {}): SendCommand['metadata'] {
  const { [askerField]: _, scheduled_at, scheduled_in, timezone, ...rest } = metadata;
  return rest;
}

const dayMs = 86_400_000;
/** Clocks of two machines differ. */
const skewMs = 60_000;

/**
 * Proves that the job runs now: by the chain of our own switchboard, or as a time of its schedule of the last day. Such
 * a time starts one task, however often and by whomever it is sent: tasks are kept for a day.
 */
function runOf(
  { message, metadata, principal }: SendCommand,
  { id, asked, receiver }: { id: string; asked: Asked; receiver: RunReceiver },
): Pick<SendCommand, 'requestId'> | undefined {
  const isFired = schedulesOf(principal).includes(scheduleName(id));
  if (isFired && principal.via.at(-1) === 'switchboard') return {};
  if (receiver.isPeer) return undefined;
  const at = Date.parse(String(metadata.scheduled_at ?? message.metadata?.scheduled_at));
  const age = receiver.now() - at;
  const isRecent = age >= -skewMs && age <= dayMs;
  if (!isRecent || parseSchedule(asked.schedule, asked).next(at - 1) !== at) return undefined;
  return { requestId: `${id}@${isoTime(at)}` };
}

function accountOf(asker: Principal, current: AccountAccess['current']): Principal {
  try {
    return current(asker);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw invalidParams(`The schedule was not run: ${error.message}`, 'message.metadata');
  }
}
