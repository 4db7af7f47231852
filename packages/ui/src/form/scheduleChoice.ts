/** A schedule as people choose it; `cron` is any other text. */
export type ScheduleChoice =
  | { kind: 'minutes'; every: number }
  | { kind: 'hourly'; minute: number }
  | { kind: 'daily' | 'weekdays'; time: string }
  | { kind: 'weekly'; days: readonly number[]; time: string }
  | { kind: 'monthly'; date: string; time: string }
  | { kind: 'once'; at: string }
  | { kind: 'cron'; text: string };

/** What a schedule of the API says, as far as the choices can say exactly the same. */
export function readChoice(text: string): ScheduleChoice {
  return choicesFor(text).find((choice) => writeChoice(choice) === text) ?? { kind: 'cron', text };
}

/** As the API takes it: five cron fields, or the wall time of one run. Empty while something is missing. */
export function writeChoice(choice: ScheduleChoice): string {
  switch (choice.kind) {
    case 'minutes':
      return choice.every === 1 ? '* * * * *' : `*/${choice.every} * * * *`;
    case 'hourly':
      return `${choice.minute} * * * *`;
    case 'daily':
      return at(choice.time, '* * *');
    case 'weekdays':
      return at(choice.time, '* * 1-5');
    case 'weekly':
      return choice.days.length === 0 ? '' : at(choice.time, `* * ${choice.days.toSorted().join(',')}`);
    case 'monthly':
      return at(choice.time, `${choice.date} * *`);
    case 'once':
      return choice.at;
    case 'cron':
      return choice.text.trim();
  }
}

/** The time that a choice has, for the next kind that is chosen. */
export function timeOf(choice: ScheduleChoice): string {
  if ('time' in choice && choice.time !== '') return choice.time;
  return choice.kind === 'once' ? choice.at.slice(11, 16) || USUAL_TIME : USUAL_TIME;
}

const USUAL_TIME = '09:00';
/** Intervals that come out even within an hour: of others the hour begins anew. */
export const STEPS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30] as const;

function at(time: string, days: string): string {
  const [hour, minute] = time.split(':').map(Number);
  return hour === undefined || minute === undefined ? '' : `${minute} ${hour} ${days}`;
}

/** Choices that the text may be; the caller compares what each writes. */
function choicesFor(text: string): ScheduleChoice[] {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text)) return [{ kind: 'once', at: text }];
  const [minute = '', hour = '', date = '', , weekday = ''] = text.split(' ');
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  const hasTime = /^([01]\d|2[0-3]):[0-5]\d$/.test(time);
  return [
    ...STEPS.map((every) => ({ kind: 'minutes', every }) as const),
    ...(/^[0-5]?\d$/.test(minute) ? [{ kind: 'hourly', minute: Number(minute) } as const] : []),
    ...(hasTime
      ? ([
          { kind: 'daily', time },
          { kind: 'weekdays', time },
          ...(/^[0-6](,[0-6])*$/.test(weekday)
            ? [{ kind: 'weekly', days: weekday.split(',').map(Number), time } as const]
            : []),
          ...(/^(L|[1-9]|[12]\d|3[01])$/.test(date) ? [{ kind: 'monthly', date, time } as const] : []),
        ] as const)
      : []),
  ];
}
