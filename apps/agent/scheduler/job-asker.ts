import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { invalidParams, type SendCommand } from '@trunkline/a2a';
import { HttpError } from '@trunkline/http';
import {
  type AccountAccess,
  decodePrincipal,
  encodePrincipal,
  handedOn,
  type Principal,
  roleOf,
  scheduleName,
  schedulesOf,
  withOrigins,
} from '@trunkline/identity';
import { isoTime, parseSchedule } from '@trunkline/schedule';
import { actingFor } from '../approvals/approvals.ts';
import type { LiveSeals } from './live-seals.ts';

/** The field of a message under which the asker of a schedule goes to the switchboard and comes back. */
export const askerField = 'on_behalf_of';

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
export function sealAsker({ principal, ...rest }: Asked, job: Job, secret: string): string {
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

export interface RunReceiver {
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
export function receiveRun(command: SendCommand, receiver: RunReceiver): SendCommand {
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
