import { useEffect, useState } from 'react';
import { Tooltip } from './Tooltip.tsx';

const SECOND = 1000;

const MINUTE = 60 * SECOND;

const HOUR = 60 * MINUTE;

const DAY = 24 * HOUR;

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * DAY],
  ['month', 30 * DAY],
  ['week', 7 * DAY],
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', SECOND],
];

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** To the second, with the zone. Created once: a list formats hundreds of times a second while an answer streams. */
const exactWords = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' });

interface RelativeTimeProps {
  /** Milliseconds since 1970, or an ISO time. */
  at: number | string;
}

/** "5 minutes ago", kept up to date; the exact time on hover and focus. */
export function RelativeTime({ at }: RelativeTimeProps) {
  const moment = new Date(at).getTime();
  const now = useNow(moment);
  return (
    <Tooltip text={exactWords.format(moment)}>
      <time
        dateTime={new Date(moment).toISOString()}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the exact time must be within reach of the keyboard
        tabIndex={0}
        className="rounded-small whitespace-nowrap"
      >
        {relativeTime(moment, now)}
      </time>
    </Tooltip>
  );
}

// Renders again only when the words would change.
function useNow(moment: number): number {
  const [, setRound] = useState(0);
  const now = Date.now();
  useEffect(() => {
    const timer = setTimeout(() => setRound((round) => round + 1), wordsLastMs(moment, now));
    return () => clearTimeout(timer);
  }, [moment, now]);
  return now;
}

/** A time as seen from now: "in 3 hours", "yesterday", "just now". */
export function relativeTime(moment: number, now: number): string {
  const distance = moment - now;
  if (Math.abs(distance) < 10 * SECOND) return distance > SECOND ? 'in a moment' : 'just now';
  const [unit, length] = unitFor(distance);
  return words.format(unit === 'day' ? daysBetween(now, moment) : Math.trunc(distance / length), unit);
}

/** By the calendar: nine o'clock the day after tomorrow is no "tomorrow", however few hours that are. */
function daysBetween(now: number, moment: number): number {
  return Math.round((midnightOf(moment) - midnightOf(now)) / DAY);
}

function midnightOf(moment: number): number {
  return new Date(moment).setHours(0, 0, 0, 0);
}

/** How long the words for a time stay true. */
export function wordsLastMs(moment: number, now: number): number {
  const distance = Math.abs(moment - now);
  if (distance < MINUTE) return 5 * SECOND;
  return distance < HOUR ? 30 * SECOND : 10 * MINUTE;
}

function unitFor(distance: number): [Intl.RelativeTimeFormatUnit, number] {
  return UNITS.find(([, length]) => Math.abs(distance) >= length) ?? ['second', SECOND];
}
