import { intentOf, offeredCall } from '../schema.ts';
import { capitalise, trimPhrase } from '../text.ts';
import type { Intent, Recognised, Situation } from '../types.ts';
import { findTime } from '../when.ts';
import { askHuman } from './delegate.ts';

const reminds = /\bremind me\b(?:[:,]|\s+(?:to|that|about|of))?\s*/i;
const schedules =
  /^(?:schedule|set up|plan|create a schedule(?: to| for)?)\s+(?:a (?:task|job)(?: to|:)?\s+)?/i;
const repeats =
  /^(?!(?:who|what|when|where|why|how|which|does|is|are)\b).*\b(?:every|each|daily|hourly|weekly|monthly)\b/i;

/** Times of a repeating or a single task; a reminder without a time leads to a question. */
export const scheduleTask: Intent = {
  tools: ['schedule_task'],
  example: 'Remind me in 5 minutes to stretch',
  recognise(clause, situation) {
    const isReminder = reminds.test(clause);
    if (
      !situation.tools.has('schedule_task') ||
      !(isReminder || schedules.test(clause) || repeats.test(clause))
    )
      return undefined;
    const time = findTime(clause, situation.now);
    if (time !== undefined)
      return offeredCall(
        'schedule_task',
        { prompt: promptOf(time.rest, isReminder), when: time.when },
        situation,
      );
    return isReminder || schedules.test(clause) ? askWhen(clause, situation) : undefined;
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
  if (isReminder) return `Reminder: ${task === '' ? 'you asked to be reminded now' : task}`;
  return capitalise(task);
}

function askWhen(clause: string, situation: Situation): Recognised {
  const task = trimPhrase(clause.replace(reminds, '').replace(schedules, ''));
  const question = `When should I do that${task === '' ? '' : ` (${task})`}? For example: in 5 minutes, tomorrow at 9, every Monday at 10.`;
  return askHuman(question, situation) ?? question;
}

export const listSchedules = intentOf('List my schedules', [
  [
    /^(?:list|show|what are|what's|what is|do i have)\b.*\b(?:schedules?|scheduled|reminders?)\b/i,
    'list_schedules',
  ],
]);

export const cancelSchedule = intentOf('Cancel job <id>', [
  [
    /^(?:cancel|delete|remove|stop)(?: the| my)?(?: scheduled)? (?:schedule|job|reminder|task)(?: with)?(?: id)?:? (?<id>\S+)$/i,
    'cancel_schedule',
    ({ id = '' }) => ({ job_id: trimPhrase(id) }),
  ],
]);
