import { describeSchedule } from '@trunkline/std';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useApi } from '../api/ApiProvider.tsx';
import { asApiError } from '../api/api.ts';
import { SelectField, TextField } from '../components/Field.tsx';
import { NextTimes } from '../components/ScheduleTimes.tsx';
import { cn } from '../lib/cn.ts';
import type { CustomFields } from './SchemaForm.tsx';
import { readChoice, type ScheduleChoice, STEPS, timeOf, writeChoice } from './scheduleChoice.ts';

interface ScheduleFieldProps {
  label: string;
  /** Five cron fields, a name such as `@daily`, or one time; empty while something is missing. */
  value: string;
  /** Zone of the times. */
  timezone: string;
  error: string | undefined;
  onChange(value: string): void;
  preview: SchedulePreview;
}

/** How the service is asked when a schedule runs next, and what of its answer are the times. */
interface SchedulePreview {
  path: string;
  body(schedule: string, timezone: string): object;
  read(answer: unknown): readonly string[];
}

const KINDS: readonly { value: ScheduleChoice['kind']; label: string }[] = [
  { value: 'minutes', label: 'Every few minutes' },
  { value: 'hourly', label: 'Every hour' },
  { value: 'daily', label: 'Every day' },
  { value: 'weekdays', label: 'Monday to Friday' },
  { value: 'weekly', label: 'Every week' },
  { value: 'monthly', label: 'Every month' },
  { value: 'once', label: 'Once' },
  { value: 'cron', label: 'Cron fields' },
];

/** The field of a form that says when something runs, in the zone of its field `timezone`. */
export function scheduleFields(name: string, preview: SchedulePreview): CustomFields {
  return {
    [name]: ({ value, values, ...field }) => (
      <ScheduleField
        {...field}
        value={String(value ?? '')}
        timezone={String(values.timezone)}
        preview={preview}
      />
    ),
  };
}

/** When something runs: chosen from what people mean, or written as cron fields; with the times that follow from it. */
function ScheduleField(props: ScheduleFieldProps) {
  const { label, value, error, timezone, onChange, preview } = props;
  const [choice, setChoice] = useState<ScheduleChoice>(() => readChoice(value));
  const change = (next: ScheduleChoice) => {
    setChoice(next);
    onChange(writeChoice(next));
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 font-medium text-14">{label}</legend>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(9rem,1fr))] gap-2">
        <SelectField
          label="Repeats"
          options={KINDS}
          value={choice.kind}
          onChange={({ target }) => change(withKind(target.value as ScheduleChoice['kind'], choice))}
        />
        <Details choice={choice} error={error} onChange={change} />
      </div>
      {choice.kind === 'weekly' && <Weekdays choice={choice} error={error} onChange={change} />}
      <Times schedule={value} timezone={timezone} preview={preview} isWritten={choice.kind === 'cron'} />
    </fieldset>
  );
}

/** The kind with what the choice before can give it. */
function withKind(kind: ScheduleChoice['kind'], before: ScheduleChoice): ScheduleChoice {
  const time = timeOf(before);
  switch (kind) {
    case 'minutes':
      return { kind, every: 15 };
    case 'hourly':
      return { kind, minute: 0 };
    case 'daily':
    case 'weekdays':
      return { kind, time };
    case 'weekly':
      return { kind, days: [1], time };
    case 'monthly':
      return { kind, date: '1', time };
    case 'once':
      return { kind, at: '' };
    case 'cron':
      return { kind, text: writeChoice(before) };
  }
}

interface ChoiceProps<Kind extends ScheduleChoice['kind'] = ScheduleChoice['kind']> {
  choice: Extract<ScheduleChoice, { kind: Kind }>;
  error: string | undefined;
  onChange(choice: ScheduleChoice): void;
}

const DATES = Array.from({ length: 31 }, (_, index) => String(index + 1));
const CRON_HINT =
  'Minute, hour, day of the month, month, day of the week: 0 9 * * 1-5 is Monday to Friday at 09:00.';

/** The fields beside the kind. */
function Details({ choice, error, onChange }: ChoiceProps) {
  switch (choice.kind) {
    case 'minutes':
      return (
        <SelectField
          label="Every"
          options={STEPS.map((step) => option(step, minutesOf(step)))}
          value={choice.every}
          onChange={({ target }) => onChange({ ...choice, every: Number(target.value) })}
        />
      );
    case 'hourly':
      return (
        <SelectField
          label="Minutes past"
          options={Array.from({ length: 60 }, (_, minute) => option(minute, `:${twoDigits(minute)}`))}
          value={choice.minute}
          onChange={({ target }) => onChange({ ...choice, minute: Number(target.value) })}
        />
      );
    case 'monthly':
      return (
        <>
          <SelectField
            label="Day"
            options={[...DATES.map((date) => option(date, date)), option('L', 'Last day')]}
            value={choice.date}
            {...(Number(choice.date) > 28 && { hint: 'Months without this day are left out.' })}
            onChange={({ target }) => onChange({ ...choice, date: target.value })}
          />
          <TimeField choice={choice} error={error} onChange={onChange} />
        </>
      );
    case 'once':
      return (
        <TextField
          label="At"
          className="col-span-full"
          type="datetime-local"
          value={choice.at}
          {...shown(error)}
          onChange={({ target }) => onChange({ ...choice, at: target.value.slice(0, 16) })}
        />
      );
    case 'cron':
      return (
        <TextField
          label="Cron"
          className="col-span-full"
          mono
          spellCheck={false}
          autoComplete="off"
          value={choice.text}
          hint={CRON_HINT}
          {...shown(error)}
          onChange={({ target }) => onChange({ ...choice, text: target.value })}
        />
      );
    default:
      return <TimeField choice={choice} error={error} onChange={onChange} />;
  }
}

function TimeField({ choice, error, onChange }: ChoiceProps<'daily' | 'weekdays' | 'weekly' | 'monthly'>) {
  return (
    <TextField
      label="At"
      type="time"
      value={choice.time}
      {...(choice.time === '' && shown(error))}
      onChange={({ target }) => onChange({ ...choice, time: target.value.slice(0, 5) })}
    />
  );
}

/** Monday first; cron counts from Sunday. */
const WEEKDAYS: readonly (readonly [number, string, string])[] = [
  [1, 'Mon', 'Monday'],
  [2, 'Tue', 'Tuesday'],
  [3, 'Wed', 'Wednesday'],
  [4, 'Thu', 'Thursday'],
  [5, 'Fri', 'Friday'],
  [6, 'Sat', 'Saturday'],
  [0, 'Sun', 'Sunday'],
];

function Weekdays({ choice, error, onChange }: ChoiceProps<'weekly'>) {
  const { days } = choice;
  const toggle = (day: number) =>
    onChange({ ...choice, days: days.includes(day) ? days.filter((one) => one !== day) : [...days, day] });
  return (
    <div className="flex flex-col gap-1">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset within the fieldset would draw the legend twice */}
      <div role="group" aria-label="Days" className="grid max-w-96 grid-cols-7 gap-1">
        {WEEKDAYS.map(([day, short, name]) => (
          <button
            key={day}
            type="button"
            aria-label={name}
            aria-pressed={days.includes(day)}
            aria-invalid={days.length === 0 && error !== undefined}
            onClick={() => toggle(day)}
            className={cn(
              'h-9 min-w-0 cursor-pointer rounded-corner border border-edge bg-raised text-14 transition-colors hover:border-ink pointer-coarse:h-11',
              'aria-pressed:border-accent-text aria-pressed:bg-accent aria-pressed:font-medium aria-pressed:text-accent-ink',
            )}
          >
            {short}
          </button>
        ))}
      </div>
      {days.length === 0 && <Warning>Choose at least one day.</Warning>}
    </div>
  );
}

/** Whoever types is not interrupted by what is wrong so far. */
const PAUSE_MS = 300;

interface TimesProps extends Pick<ScheduleFieldProps, 'timezone' | 'preview'> {
  schedule: string;
  /** Written by hand: what it means is said in words. */
  isWritten: boolean;
}

/** When it runs next, as the service reckons; what is wrong with the schedule where it says so. */
function Times({ schedule, timezone, preview, isWritten }: TimesProps) {
  const api = useApi();
  const asked = useRef(preview);
  const [found, setFound] = useState<{ times: readonly string[]; problem?: string }>();
  // Fields that are not all there yet are no mistake.
  const isWhole = schedule.startsWith('@') || /^\d{4}-/.test(schedule) || schedule.split(/\s+/).length > 4;
  useEffect(() => {
    setFound(undefined);
    if (!isWhole) return;
    const leaving = new AbortController();
    const { path, body, read } = asked.current;
    const ask = async () => {
      const request = { body: body(schedule, timezone), signal: leaving.signal };
      const answer = await api.request(path, request).then(
        (answer) => timesOf(read(answer)),
        (thrown: unknown) => ({ times: [], problem: asApiError(thrown).message }),
      );
      if (!leaving.signal.aborted) setFound(answer);
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [api, schedule, timezone, isWhole]);
  const words = isWritten ? describeSchedule(schedule) : undefined;
  return (
    <div aria-live="polite" className="flex min-h-4.5 flex-col gap-1">
      {words && <p className="text-12 text-muted">{words}</p>}
      {found?.problem !== undefined && <Warning>{found.problem}</Warning>}
      {found !== undefined && found.times.length > 0 && <NextTimes times={found.times.slice(0, 3)} />}
    </div>
  );
}

function timesOf(times: readonly string[]) {
  return times.length > 0 ? { times } : { times, problem: 'This time has passed: choose a later one.' };
}

function Warning({ children }: { children: ReactNode }) {
  return <p className="font-medium text-12 text-failed-text">{children}</p>;
}

const shown = (error: string | undefined) => (error === undefined ? {} : { error });
const option = (value: number | string, label: string) => ({ value: String(value), label });
const twoDigits = (value: number) => String(value).padStart(2, '0');
const minutesOf = (step: number) => (step === 1 ? 'minute' : `${step} minutes`);
