import { describeSchedule } from '@trunkline/std';
import { browserTimezone } from '../lib/browser.ts';
import { RelativeTime } from './RelativeTime.tsx';
import { Tooltip } from './Tooltip.tsx';

interface ScheduleWordsProps {
  /** Cron fields, a name such as `@daily`, or one time. */
  schedule: string;
  timezone: string;
  /** When it runs next, if it does. */
  next?: string | undefined;
}

/** When a schedule runs, in words where it has some, and its fields on hover and focus; with its time zone. */
export function ScheduleWords({ schedule, timezone, next }: ScheduleWordsProps) {
  if (next !== undefined && /^\d{4}-/.test(schedule)) {
    return (
      <span>
        Once, <RelativeTime at={next} />
      </span>
    );
  }
  const words = describeSchedule(schedule);
  return (
    <span>
      {words === undefined ? (
        <code>{schedule}</code>
      ) : (
        <Tooltip text={`Cron: ${schedule}`}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the fields must be within reach of the keyboard */}
          <span tabIndex={0} className="inline-flex min-h-6 items-center rounded-small">
            {words}
          </span>
        </Tooltip>
      )}{' '}
      {timezone}
    </span>
  );
}

/** When a schedule runs next, by the clock of whoever looks at it. */
export function NextTimes({ times }: { times: readonly string[] }) {
  return (
    <ol
      aria-label={`Next runs, in the zone ${browserTimezone()}`}
      className="flex flex-wrap gap-x-4 gap-y-1 text-12 text-muted before:content-['Next']"
    >
      {times.map((time) => (
        <li key={time}>
          <time dateTime={time}>{localTime(time)}</time>
        </li>
      ))}
    </ol>
  );
}

/** With the zone: `Tue 17 Nov, 09:00 CET`. */
function localTime(time: string): string {
  const words = {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  } as const;
  return new Intl.DateTimeFormat('en-GB', { ...words, timeZoneName: 'short' }).format(new Date(time));
}
