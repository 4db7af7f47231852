import { matchesTopic } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import { switchboardErrors } from '../errors.ts';
import { checkAsked, ownConversation } from './asked.ts';
import { type Caller, mayPublish } from './caller.ts';
import { isOwnTopic } from './topics.ts';

/** Whose a schedule is: null for one that is nobody's but the operator's, undefined when there is no such schedule. */
export interface ScheduleOwners {
  ownerOf(id: string): string | null | undefined;
}

/**
 * A command of a scoped key, bound to the schedules that it owns; throws when it is about others, or would have one do
 * what the key itself may not. The scheduler looks at the owner once more when it carries the command out.
 */
export function scheduleCommand(caller: Caller, payload: unknown, owners: ScheduleOwners): object {
  const fields = fieldsOf(payload);
  const bound = { ...fields, onlyOwner: caller.name };
  if (fields.action === 'list') return caller.guest ? fields : bound;
  const isUnnamedPreview = fields.action === 'preview' && fields.id === undefined;
  if (!isUnnamedPreview && !isOwn(caller, fields, owners)) throw foreign(caller, String(fields.id));
  if (fields.action !== 'add') return bound;
  checkScheduled(caller, fields);
  return { ...bound, owner: caller.name, payload: ownConversation(caller, fields.payload) };
}

/** A guest reads what there is, and changes only what guests made. */
export function seesSchedule(caller: Caller, owner: string | null | undefined): boolean {
  return caller.guest === true || ownsSchedule(caller, owner);
}

function ownsSchedule({ admin, name }: Caller, owner: string | null | undefined): boolean {
  return admin || owner === name;
}

/** A schedule that is there belongs to its owner; a new one gets an id that begins with the name of the key. */
function isOwn(
  caller: Caller,
  { id, owner: given }: Record<string, unknown>,
  owners: ScheduleOwners,
): boolean {
  const name = text(id);
  if (caller.guest && name === undefined) return true;
  if (name === undefined || (given !== undefined && given !== caller.name)) return false;
  const owner = owners.ownerOf(name);
  if (owner !== undefined) return ownsSchedule(caller, owner);
  if (caller.guest) return true;
  return name === caller.name || name.startsWith(`${caller.name}-`) || name.startsWith(`${caller.name}.`);
}

/** What fires later is checked as if the key published it now; orders to the switchboard are never scheduled with a scoped key. */
function checkScheduled(caller: Caller, { topic, payload }: Record<string, unknown>): void {
  const name = text(topic);
  if (name === undefined) return;
  const isOrder = matchesTopic('command.#', name) || isOwnTopic(name);
  if (caller.guest) {
    if (!matchesTopic('cron.#', name)) throw switchboardErrors.guest_schedule({ topic: name });
    return;
  }
  if (isOrder || !mayPublish(caller, name)) throw switchboardErrors.publish_forbidden({ topic: name });
  checkAsked(caller, { topic: name, payload });
}

function foreign({ guest, name }: Caller, id: string) {
  return guest
    ? switchboardErrors.operator_schedule({ id })
    : switchboardErrors.schedule_forbidden({ id, name });
}
