import type { Bus, Message, Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { stringify } from 'yaml';
import { ownsSchedule, seesSchedule } from '../access/caller.ts';
import type { ScheduleView } from '../api-types.ts';
import type { ChangeNote, ControlPlane } from '../control/control-plane.ts';
import { onBehalf, ownerOfMessage, principalOf } from '../core/messages.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import { reportError } from '../workspace/problems.ts';
import type { CronRecord } from '../workspace/schema/cron.ts';
import type { CronFolder } from './cron-folder.ts';
import type { FireCompletion } from './fire-results.ts';
import { editRecord, ownerOf, readRecord, withField } from './record.ts';
import { ScheduleRefusal, type Schedules } from './schedules.ts';

export interface CommandParts {
  bus: Bus;
  schedules: Schedules;
  folder: CronFolder;
  controlPlane: ControlPlane;
  fireCompletion: FireCompletion;
  logger: Logger;
}

interface Command {
  action: string;
  id: string;
  fields: Record<string, unknown>;
  note: ChangeNote;
  /** Whether there is a bound on what its owner may have. */
  isBounded: boolean;
}

/** A message holds at most a megabyte. */
const mostListedCharacters = 800_000;
/** Fields of the command that the record does not have. */
const ownFields = ['action', 'onlyNew', 'onlyOwner', 'reason', 'lastFired'];

/** Of everybody but the operator and the services: so many, and so many characters of records together. */
const mostOfOne = { schedules: 1000, characters: 8_000_000 };

/** Runs `command.schedule`, one at a time; only the leader listens. */
export function listenForCommands(parts: CommandParts): Promise<Subscription> {
  const options = { durable: 'schedule-commands', plugin: 'scheduler' };
  return parts.bus.subscribe('command.schedule', (message) => answer(message, parts), options);
}

/** A refused command is answered with the reason: a retry would not help. */
async function answer(message: Message, parts: CommandParts): Promise<void> {
  const { correlationId, id: parentId, reply } = message;
  const { bus, logger } = parts;
  const principal = onBehalf(message, 'scheduler');
  const command = readCommand(message);
  const outcome = await outcomeOf(() => carryOut(command, parts));
  if (!outcome.success) {
    logger.warn(
      { action: command.action, schedule: command.id, error: outcome.error },
      'schedule command refused',
    );
    const payload = { source: 'scheduler', plugin: 'scheduler', error: outcome.error, topic: message.topic };
    await reportError(bus, logger, payload, { correlationId, parentId, principal });
  }
  const topic = topicOf(command.action);
  if (topic !== undefined && outcome.success)
    await bus.publish({ topic, payload: outcome.data, correlationId, parentId, principal });
  if (reply !== undefined && reply.topic !== topic)
    await bus.publish({ topic: reply.topic, payload: outcome, correlationId, parentId, principal });
}

function readCommand(message: Message): Command {
  const { id: messageId, topic, payload, source } = message;
  const fields = fieldsOf(payload);
  const reason = text(fields.reason);
  const actor = source?.userId ?? source?.interface ?? 'unknown';
  // What somebody without `onlyOwner` asks for is the operator's.
  const owner = text(fields.onlyOwner) === undefined ? undefined : ownerOfMessage(message);
  const note = { actor, owner, command: { id: messageId, topic }, ...(reason !== undefined && { reason }) };
  const isBounded = owner !== undefined && principalOf(message).kind !== 'service';
  return { action: text(fields.action) ?? '', id: text(fields.id) ?? '', fields, note, isBounded };
}

type Outcome = { success: true; data: object } | { success: false; error: string; code: string };

async function outcomeOf(work: () => Promise<object>): Promise<Outcome> {
  try {
    return { success: true, data: await work() };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'refused';
    return { success: false, error: errorMessage(error), code };
  }
}

function topicOf(action: string): string | undefined {
  if (action === 'list' || action === 'preview') return `schedule.${action}`;
  return action === 'run-now' ? undefined : 'schedule.changed';
}

async function carryOut(command: Command, parts: CommandParts): Promise<object> {
  const { action, id, fields } = command;
  const owner = text(fields.onlyOwner);
  checkOwner(command, owner, parts);
  switch (action) {
    case 'add':
      return await add(command, parts);
    case 'remove':
      return await remove(command, parts);
    case 'pause':
      return await enable(command, parts, false);
    case 'resume':
      return await enable(command, parts, true);
    case 'list':
      return fitting(
        parts.schedules.list().filter((view) => owner === undefined || seesSchedule(owner, ownerOf(view))),
      );
    case 'preview':
      return preview(id, fields, parts);
    case 'run-now':
      return { id, fireId: parts.schedules.runNow(id) };
    default:
      throw new ScheduleRefusal('action_unknown', action);
  }
}

/** For commands of everybody but the operator; an unreadable file belongs to nobody. */
function checkOwner({ id, action }: Command, owner: string | undefined, { folder }: CommandParts): void {
  if (owner === undefined || id === '') return;
  const entry = folder.get(id);
  const recorded = entry && ownerOf(entry.record);
  const isForeign = entry === undefined ? folder.text(id) !== undefined : !ownsSchedule(owner, recorded);
  if (!isForeign) return;
  // One that they may not see is like none; but two cannot have the same id.
  const isKnown = action === 'add' || recorded === undefined || seesSchedule(owner, recorded);
  throw new ScheduleRefusal(isKnown ? 'schedule_foreign' : 'schedule_unknown', id);
}

/** The record is checked and on disk before its timer exists. */
async function add({ id, fields, note, isBounded }: Command, parts: CommandParts): Promise<object> {
  const { folder, controlPlane, fireCompletion } = parts;
  if (fields.onlyNew === true && folder.get(id) !== undefined)
    throw new ScheduleRefusal('schedule_exists', id);
  const given = Object.fromEntries(Object.entries(fields).filter(([name]) => !ownFields.includes(name)));
  const owner = given.owner ?? folder.get(id)?.record.owner;
  const file = stringify({ ...given, ...(owner !== undefined && { owner }) });
  const record = readRecord(file, `crons/${id}.yaml`, id);
  if (isBounded) checkRoom(record, id, folder);
  await fireCompletion.release(id);
  await controlPlane.writeText('cron', id, file, note);
  folder.refresh(id);
  return { action: 'add', id, schedule: parts.schedules.get(id) ?? null };
}

/** One that is replaced makes room for what takes its place. */
function checkRoom(record: CronRecord, id: string, folder: CronFolder): void {
  const owner = ownerOf(record);
  let [count, characters] = [1, JSON.stringify(record).length];
  for (const { record: other } of folder.list()) {
    if (other.id === id || ownerOf(other) !== owner) continue;
    count += 1;
    characters += JSON.stringify(other).length;
  }
  const { schedules, characters: most } = mostOfOne;
  if (count > schedules) throw new ScheduleRefusal('schedules_full', `${schedules} schedules`);
  if (characters > most)
    throw new ScheduleRefusal('schedules_full', `schedules of ${most / 1_000_000} MB together`);
}

async function remove(
  { id, note }: Command,
  { folder, controlPlane, fireCompletion }: CommandParts,
): Promise<object> {
  if (folder.get(id) === undefined && folder.text(id) === undefined)
    throw new ScheduleRefusal('schedule_unknown', id);
  await fireCompletion.release(id);
  await controlPlane.remove('cron', id, note);
  folder.refresh(id);
  return { action: 'remove', id };
}

async function enable({ id, note }: Command, parts: CommandParts, enabled: boolean): Promise<object> {
  const { fireCompletion, schedules } = parts;
  await fireCompletion.release(id);
  const isThere = await editRecord(parts, id, (file) => withField(file, 'enabled', enabled), note);
  if (!isThere) throw new ScheduleRefusal('schedule_unknown', id);
  return { action: enabled ? 'resume' : 'pause', id, schedule: schedules.get(id) ?? null };
}

function preview(
  id: string,
  { schedule, timezone }: Record<string, unknown>,
  { schedules }: CommandParts,
): object {
  const known = schedules.get(id);
  const given = text(schedule) ?? known?.schedule;
  if (given === undefined) throw new ScheduleRefusal('schedule_unknown', id);
  const zone = text(timezone) ?? known?.timezone;
  return { id: id || null, next: schedules.preview(given, zone) };
}

/** As many as a message holds; `/api/schedules` lists all. */
function fitting(all: ScheduleView[]): object {
  let room = mostListedCharacters;
  const end = all.findIndex((schedule) => {
    room -= JSON.stringify(schedule).length;
    return room < 0;
  });
  const schedules = end === -1 ? all : all.slice(0, end);
  const whole = JSON.parse(JSON.stringify(schedules)) as ScheduleView[];
  return { count: all.length, schedules: whole, truncated: end !== -1 };
}
