import { lazy } from '@trunkline/std';
import type { Language } from '../../../languages/languages.ts';
import { type Rule, sayUnit } from './spoken-numbers.ts';

/** Dates, times of day and durations. */
export function dates(language: Language, isDayFirst: boolean): Rule[] {
  const isEnglish = language.locale.startsWith('en');
  const said = (year: string, month: string, day: string) => sayDate(language, year, month, day);
  return [
    [
      /\b(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z\b|[+-]\d\d:?\d\d)?/g,
      (whole, year = '', month = '', day = '', time = '') => {
        const date = said(year, month, day);
        return date === undefined ? whole : `${date}, ${time}`;
      },
    ],
    [
      /(?<![\d-])(\d{4})[-/](\d\d)[-/](\d\d)\b(?!-)/g,
      (whole, year = '', month = '', day = '') => said(year, month, day) ?? whole,
    ],
    [
      /(?<![\d/.])(\d{1,2})([/.])(\d{1,2})\2(\d{4})(?![\d/])/g,
      (whole, first = '', mark = '', second = '', year = '') => {
        const [monthFirst, dayFirst] = [said(year, first, second), said(year, second, first)];
        return (isDayFirst || mark === '.' ? (dayFirst ?? monthFirst) : (monthFirst ?? dayFirst)) ?? whole;
      },
    ],
    ...(isEnglish ? englishDays() : firstDays(language)),
    ...times(language),
  ];
}

function sayDate(language: Language, year: string, month: string, day: string): string | undefined {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const { locale, spoken } = language;
  if (locale.startsWith('en'))
    return `${englishMonths()[Number(month) - 1]} ${ordinal(Number(day))}, ${year}`;
  const text = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(date);
  return spoken.firstOfMonth === '' ? text : text.replace(/^1(?:º|er)?(?= )/, spoken.firstOfMonth);
}

/** The first day of a month has a name of its own. */
function firstDays({ locale, spoken }: Language): Rule[] {
  if (spoken.firstOfMonth === '') return [];
  const of = locale.startsWith('es') || locale.startsWith('pt') ? 'de ' : '';
  return [
    [
      new RegExp(String.raw`(?<![\d.,:/-])1(?:º|er)? (?=${of}(?:${monthsOf(locale).join('|')})\b)`, 'gi'),
      `${spoken.firstOfMonth} `,
    ],
  ];
}

function monthsOf(locale: string): string[] {
  const format = new Intl.DateTimeFormat(locale, { month: 'long', timeZone: 'UTC' });
  return Array.from({ length: 12 }, (_, month) => format.format(new Date(Date.UTC(2024, month, 1))));
}

const englishMonths = lazy(() => monthsOf('en-GB'));

const englishDays = lazy((): Rule[] => {
  const monthPattern = englishMonths()
    .map((month) => `${month.slice(0, 3)}(?:${month.slice(3).replace('tember', 't(?:ember)?')})?`)
    .join('|');
  return [
    [
      new RegExp(String.raw`\b(${monthPattern})\.? (\d{1,2})(?:st|nd|rd|th)?\b(?!:)`, 'g'),
      (_whole, month = '', day = '') => `${fullMonth(month)} ${ordinal(Number(day))}`,
    ],
    [
      new RegExp(
        String.raw`(\bthe )?(?<![\d:.,])\b(\d{1,2})(?:st|nd|rd|th)? (?:of )?(${monthPattern})\b\.?`,
        'g',
      ),
      (_whole, _the = '', day = '', month = '') => `the ${ordinal(Number(day))} of ${fullMonth(month)}`,
    ],
  ];
});

function fullMonth(text: string): string {
  return englishMonths().find((month) => month.startsWith(text.slice(0, 3))) ?? text;
}

function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th');
  return `${value}${ending}`;
}

function times(language: Language): Rule[] {
  const { locale, spoken } = language;
  const { time } = spoken;
  const list = new Intl.ListFormat(locale, { type: 'unit', style: 'long' });
  const count = (text: string, unit: string) => sayUnit(language, String(Number(text)), unit);
  const said = (hour: string, minute: string) => {
    const [hours, minutes] = [Number(hour), Number(minute)];
    const form = minutes === 0 ? time.hour : minutes < 10 ? time.few : time.minutes;
    return form
      .replace('{hours}', count(hour, 'h'))
      .replace('{h}', String(hours))
      .replace('{m}', String(minutes));
  };
  const after = time.after === '' ? '' : String.raw`(?:\s?(?:${time.after})(?![\p{L}\p{M}]))?`;
  const rules: Rule[] = [
    [
      /(?<![\d:])(\d{1,2}):([0-5]\d):([0-5]\d)(?![\d:])/g,
      (_whole, hours = '', minutes = '', seconds = '') =>
        list.format([count(hours, 'h'), count(minutes, 'min'), count(seconds, 's')]),
    ],
    [/\b(\d{1,2}):00(?= ?[AP]M\b)/g, (_whole, hour = '') => String(Number(hour))],
    [
      new RegExp(String.raw`(?<![\d:.,])(\d{1,2}):([0-5]\d)(?![\d:])${after}`, 'gu'),
      (_whole, hour = '', minute = '') => said(hour, minute),
    ],
  ];
  if (locale.startsWith('en')) return rules;
  return [
    ...rules,
    [
      /(?<![\d:.,])([01]?\d|2[0-4])\s?h\s?([0-5]\d)(?!\d)(?:\s?min\b)?/g,
      (_whole, hour = '', minute = '') => said(hour, minute),
    ],
  ];
}
