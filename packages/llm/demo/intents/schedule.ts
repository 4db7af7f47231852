import { suggestions } from '@trunkline/std';
import type { Intent, Recognised, Situation } from '../request.ts';
import { intentOf, offeredCall } from '../schema.ts';
import { capitalise, contentWords, trimPhrase } from '../text.ts';
import { findTime } from '../when.ts';
import { askHuman } from './delegate.ts';

const reminds =
  /\b(?:remind me|(?:set|create|make|add)(?: me)? an? (?:reminder|alarm)|wake me(?: up)?)\b(?:[:,]|\s+(?:to|that|about|of))?\s*/i;
const schedules =
  /^(?:schedule|set up|plan|create a schedule(?: to| for)?)\s+(?:a (?:task|job)(?: to|:)?\s+)?/i;
const repeats =
  /^(?!(?:who|what|when|where|why|how|which|does|is|are)\b).*\b(?:every|each|daily|hourly|weekly|monthly)\b/i;

/** Times of a repeating or a single task; a reminder without a time leads to a question. */
export const scheduleTask: Intent = {
  tools: ['schedule_task'],
  examples: [suggestions.reminder],
  recognise(clause, situation) {
    const isReminder = reminds.test(clause);
    if (
      !situation.tools.has('schedule_task') ||
      !(isReminder || schedules.test(clause) || repeats.test(clause))
    )
      return undefined;
    const { zone } = situation;
    const time = findTime(clause, situation.now, zone);
    if (time !== undefined)
      return offeredCall(
        'schedule_task',
        { prompt: promptOf(time.rest, isReminder), when: time.when, ...(zone && { timezone: zone }) },
        situation,
      );
    return isReminder || schedules.test(clause) ? askWhen(clause, situation) : undefined;
  },
};

/** Where a reminder is spoken by whoever was asked for it. The clock is that of the machine, unless a zone is named. */
export const setReminder: Intent = {
  tools: ['set_reminder'],
  examples: [suggestions.reminder],
  recognise(clause, situation) {
    if (!situation.tools.has('set_reminder') || !reminds.test(clause)) return undefined;
    const zone = situation.zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const time = findTime(clause, situation.now, zone);
    if (time === undefined) return askWhen(clause, situation);
    const text = promptOf(time.rest, true).replace(/^Reminder: /, '');
    return offeredCall('set_reminder', { text, when: time.when, timezone: zone }, situation);
  },
};

/** The prompt runs later as a message of its own, so a reminder says what it reminds of. */
function promptOf(rest: string, isReminder: boolean): string {
  const task = trimPhrase(
    rest
      .replace(reminds, '')
      .replace(schedules, '')
      .replace(/^[\s,:]*(?:to|that|,)\s+/i, ''),
  ).replace(/^(?:please\s+|to\s+)/i, '');
  if (isReminder)
    return `Reminder: ${task || (/\bwake me\b/i.test(rest) ? 'wake up' : 'you asked to be reminded now')}`;
  return capitalise(task);
}

function askWhen(clause: string, situation: Situation): Recognised {
  const task = trimPhrase(clause.replace(reminds, '').replace(schedules, ''));
  const question = `When should I do that${task === '' ? '' : ` (${task})`}? For example: in 5 minutes, tomorrow at 9, every Monday at 10.`;
  return askHuman(question, situation) ?? question;
}

export const listSchedules = intentOf(
  [suggestions.schedules],
  [
    [
      /^(?:list|show|what|which|do i have|any)\b.*\b(?:schedules?|scheduled|reminders?|alarms?)\b/i,
      'list_schedules',
    ],
  ],
);

const cancelsBy =
  /^(?:please )?(?:cancel|delete|remove|stop|forget)(?: the| my)? (?:schedules?|jobs?|reminders?|alarms?)(?: (?:to|for|about|of|that))? (?<about>.+ .+|(?<=(?:to|for|about|of) )\S+)$/i;

export const cancelSchedule = intentOf(
  [suggestions.cancel],
  [
    [
      /^(?:cancel|delete|remove|stop)(?: the| my)?(?: scheduled)? (?:schedule|job|reminder|task)(?: with)?(?: id)?:? (?<id>\S+)$/i,
      'cancel_schedule',
      ({ id = '' }) => ({ job_id: trimPhrase(id) }),
    ],
    // By what it is about: the list says which job that is (see cancelListed).
    [cancelsBy, 'list_schedules'],
  ],
);

/** After the list of jobs was read: cancels the one that the wish is about. */
export function cancelListed(wish: string, listed: string, situation: Situation): Recognised {
  const about = cancelsBy.exec(trimPhrase(wish))?.groups?.about;
  if (about === undefined) return undefined;
  const words = contentWords(about);
  const job = listed.split('\n').find((line) => words.every((word) => line.toLowerCase().includes(word)));
  const id = job?.split(' | ')[0];
  return id === undefined || words.length === 0
    ? undefined
    : offeredCall('cancel_schedule', { job_id: id }, situation);
}
