/** A time found in a sentence: the schedule, and the sentence without the words that named it. */
interface FoundTime {
  when: string;
  rest: string;
}

interface Rule {
  pattern: RegExp;
  when(match: RegExpExecArray, now: Date): string | undefined;
}

interface Hour {
  hour: number;
  minute: number;
}

const unitMs: Record<string, number> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};
const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const clock = String.raw`(noon|midnight|\d{1,2}(?::\d\d)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)?)`;
const days = dayNames.join('|');
const numberWords: Record<string, number> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  ten: 10,
  fifteen: 15,
  thirty: 30,
};
const count = String.raw`(\d+|${Object.keys(numberWords).join('|')})`;
const morning: Hour = { hour: 9, minute: 0 };

/** Rules in order of precedence: repeating times before single ones, exact forms before loose ones. */
const rules: Rule[] = [
  {
    pattern:
      /\b(?:with |on |using )?(?:the )?cron(?: expression)?:? ["'`]?((?:[\d*/,-]+ ){4}[\d*/,-]+)["'`]?/i,
    when: (match) => match[1],
  },
  {
    pattern: new RegExp(String.raw`\b(?:every|each) ${count} (minute|hour)s?\b`, 'i'),
    when: (match) => everyFew(amount(match[1]), match[2]),
  },
  { pattern: /\b(?:every|each) minute\b/i, when: () => '* * * * *' },
  { pattern: /\b(?:every|each) hour\b|\bhourly\b/i, when: () => '0 * * * *' },
  {
    pattern: new RegExp(String.raw`\b(?:every|each) weekday(?: (?:at )?${clock})?`, 'i'),
    when: (match) => cronAt(match[1], '* * 1-5'),
  },
  {
    pattern: new RegExp(String.raw`\b(?:every|each) (${days})(?: morning)?(?: (?:at )?${clock})?`, 'i'),
    when: (match) => cronAt(match[2], `* * ${dayNumber(match[1])}`),
  },
  {
    pattern: new RegExp(
      String.raw`\b(?:(?:every|each) week|weekly)(?: on (${days})s?)?(?: (?:at )?${clock})?`,
      'i',
    ),
    when: (match) => cronAt(match[2], `* * ${dayNumber(match[1] ?? 'monday')}`),
  },
  {
    pattern: new RegExp(String.raw`\b(?:(?:every|each) month|monthly)(?: (?:at )?${clock})?`, 'i'),
    when: (match) => cronAt(match[1], '1 * *'),
  },
  { pattern: /\b(?:every|each) (?:evening|night)\b(?! at)/i, when: () => '0 20 * * *' },
  {
    pattern: new RegExp(
      String.raw`\b(?:(?:every|each) (?:day|morning|evening|night)|daily)(?:,? (?:at )?${clock})?`,
      'i',
    ),
    when: (match) => cronAt(match[1], '* * *'),
  },
  {
    pattern: /\b(?:at |on )?(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)/i,
    when: (match) => isoOf(match[1]),
  },
  {
    pattern: new RegExp(String.raw`\b(?:on )?(\d{4}-\d\d-\d\d)(?: (?:at )?${clock})?`, 'i'),
    when: (match) => dateAt(match[1], match[2]),
  },
  {
    pattern: new RegExp(String.raw`\bin ${count} (second|minute|hour|day|week)s?(?: time)?\b`, 'i'),
    when: (match, now) => later(now, amount(match[1]), match[2]),
  },
  { pattern: /\bin half an hour\b/i, when: (_, now) => later(now, 30, 'minute') },
  {
    pattern: new RegExp(String.raw`\b(?:at |for )?${clock} tomorrow\b`, 'i'),
    when: (match, now) => dayAt(now, 1, match[1]),
  },
  {
    pattern: new RegExp(String.raw`\btomorrow(?: morning)?(?: (?:at )?${clock})?`, 'i'),
    when: (match, now) => dayAt(now, 1, match[1]),
  },
  {
    pattern: new RegExp(String.raw`\b(?:on |next )(${days})(?: (?:at )?${clock})?`, 'i'),
    when: (match, now) => dayAt(now, daysUntil(now, match[1]), match[2]),
  },
  { pattern: /\btonight\b(?! at)/i, when: (_, now) => nextAt(now, '8pm') },
  {
    pattern: /\b(?:for|by) (noon|midnight|\d{1,2}(?::\d\d)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock))/i,
    when: (match, now) => nextAt(now, match[1]),
  },
  {
    pattern: new RegExp(String.raw`\b(?:(?:today|tonight) )?at ${clock}`, 'i'),
    when: (match, now) => nextAt(now, match[1]),
  },
];

/**
 * Finds the first time that the sentence names, as a cron expression or an ISO time in UTC. With `zone` both are what
 * a clock there shows, so the ISO time has no Z.
 */
export function findTime(sentence: string, now: Date, zone?: string): FoundTime | undefined {
  const clockTime = zone === undefined ? now : wallTime(now, zone);
  for (const { pattern, when } of rules) {
    const match = pattern.exec(sentence);
    const found = match === null ? undefined : when(match, clockTime);
    if (match === null || found === undefined) continue;
    const isGiven = /Z|[+-]\d\d:\d\d$/.test(match[1] ?? '');
    return {
      when: zone === undefined || isGiven ? found : found.replace(/Z$/, ''),
      rest: without(sentence, match),
    };
  }
  return undefined;
}

/** What a clock in the zone shows, as if it were UTC. */
function wallTime(now: Date, zone: string): Date {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  return new Date(`${format.format(now).replace(' ', 'T')}Z`);
}

function without(sentence: string, match: RegExpExecArray): string {
  const before = sentence.slice(0, match.index);
  const after = sentence.slice(match.index + match[0].length);
  return `${before} ${after}`
    .replace(/\s+/g, ' ')
    .replace(/\s+([,.?!])/g, '$1')
    .trim();
}

function amount(text = ''): number {
  return numberWords[text.toLowerCase()] ?? Number(text);
}

function everyFew(every: number, unit = ''): string | undefined {
  const limit = unit.toLowerCase() === 'minute' ? 59 : 23;
  if (every < 1 || every > limit) return undefined;
  return unit.toLowerCase() === 'minute' ? `*/${every} * * * *` : `0 */${every} * * *`;
}

function cronAt(text: string | undefined, rest: string): string | undefined {
  const time = text === undefined ? morning : hourOf(text);
  return time === undefined ? undefined : `${time.minute} ${time.hour} ${rest}`;
}

function dayNumber(name = ''): number {
  return dayNames.indexOf(name.toLowerCase());
}

function daysUntil(now: Date, name = ''): number {
  return (dayNumber(name) - now.getUTCDay() + 7) % 7 || 7;
}

function later(now: Date, many: number, unit = ''): string {
  return new Date(now.getTime() + many * (unitMs[unit.toLowerCase()] ?? 0)).toISOString();
}

function dayAt(now: Date, ahead: number, text: string | undefined): string | undefined {
  const time = text === undefined ? morning : hourOf(text);
  return (
    time &&
    new Date(
      Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + ahead, time.hour, time.minute),
    ).toISOString()
  );
}

/** The next time the clock shows this hour: today, or tomorrow when it has passed. */
function nextAt(now: Date, text: string | undefined): string | undefined {
  const today = dayAt(now, 0, text);
  return today !== undefined && new Date(today) <= now ? dayAt(now, 1, text) : today;
}

function dateAt(date = '', text: string | undefined): string | undefined {
  const time = text === undefined ? morning : hourOf(text);
  return time && isoOf(`${date}T${pad(time.hour)}:${pad(time.minute)}:00Z`);
}

function hourOf(text: string): Hour | undefined {
  if (/noon/i.test(text)) return { hour: 12, minute: 0 };
  if (/midnight/i.test(text)) return { hour: 0, minute: 0 };
  const [, digits, minutes = '0', half] = /(\d{1,2})(?::(\d\d))?\s*([ap])?/i.exec(text) ?? [];
  const hour = (Number(digits) % (half === undefined ? 24 : 12)) + (half?.toLowerCase() === 'p' ? 12 : 0);
  return Number(digits) > 24 || Number(minutes) > 59 ? undefined : { hour, minute: Number(minutes) };
}

function isoOf(text = ''): string | undefined {
  const date = new Date(/Z|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

const citiesByZone: Record<string, string> = {
  'Africa/Cairo': 'cairo|egypt',
  'Africa/Johannesburg': 'johannesburg|cape town|south africa|pretoria',
  'Africa/Lagos': 'lagos|nigeria|abuja',
  'Africa/Nairobi': 'nairobi|kenya',
  'America/Anchorage': 'anchorage|alaska',
  'America/Argentina/Buenos_Aires': 'buenos aires|argentina',
  'America/Bogota': 'bogota|bogotá|colombia',
  'America/Chicago': 'chicago|houston|dallas|austin|central time|texas|minneapolis|new orleans',
  'America/Denver': 'denver|salt lake city|mountain time|colorado',
  'America/Halifax': 'halifax|nova scotia',
  'America/Lima': 'lima|peru',
  'America/Los_Angeles':
    'los angeles|la|san francisco|seattle|portland|san diego|las vegas|california|pacific time|silicon valley',
  'America/Mexico_City': 'mexico city|mexico',
  'America/New_York':
    'new york|nyc|new york city|boston|washington|washington dc|miami|atlanta|philadelphia|eastern time|florida',
  'America/Phoenix': 'phoenix|arizona',
  'America/Santiago': 'santiago|chile',
  'America/Sao_Paulo': 'sao paulo|são paulo|rio|rio de janeiro|brazil|brasilia',
  'America/Toronto': 'toronto|montreal|ottawa|quebec',
  'America/Vancouver': 'vancouver',
  'Asia/Bangkok': 'bangkok|thailand',
  'Asia/Dhaka': 'dhaka|bangladesh',
  'Asia/Dubai': 'dubai|abu dhabi|emirates|uae',
  'Asia/Ho_Chi_Minh': 'ho chi minh city|saigon|hanoi|vietnam',
  'Asia/Hong_Kong': 'hong kong',
  'Asia/Jakarta': 'jakarta|indonesia',
  'Asia/Jerusalem': 'jerusalem|tel aviv|israel',
  'Asia/Karachi': 'karachi|lahore|islamabad|pakistan',
  'Asia/Kathmandu': 'kathmandu|nepal',
  'Asia/Kolkata': 'kolkata|mumbai|delhi|new delhi|bangalore|bengaluru|chennai|india|hyderabad',
  'Asia/Kuala_Lumpur': 'kuala lumpur|malaysia',
  'Asia/Manila': 'manila|philippines',
  'Asia/Riyadh': 'riyadh|saudi arabia',
  'Asia/Seoul': 'seoul|south korea|korea',
  'Asia/Shanghai': 'shanghai|beijing|shenzhen|china',
  'Asia/Singapore': 'singapore',
  'Asia/Taipei': 'taipei|taiwan',
  'Asia/Tehran': 'tehran|iran',
  'Asia/Tokyo': 'tokyo|osaka|kyoto|japan',
  'Atlantic/Reykjavik': 'reykjavik|iceland',
  'Australia/Adelaide': 'adelaide',
  'Australia/Brisbane': 'brisbane',
  'Australia/Melbourne': 'melbourne',
  'Australia/Perth': 'perth',
  'Australia/Sydney': 'sydney|canberra|australia',
  'Europe/Amsterdam': 'amsterdam|rotterdam|netherlands|holland',
  'Europe/Athens': 'athens|greece',
  'Europe/Belgrade': 'belgrade|serbia',
  'Europe/Berlin': 'berlin|munich|münchen|hamburg|frankfurt|cologne|germany',
  'Europe/Brussels': 'brussels|belgium',
  'Europe/Bucharest': 'bucharest|romania',
  'Europe/Budapest': 'budapest|hungary',
  'Europe/Copenhagen': 'copenhagen|denmark',
  'Europe/Dublin': 'dublin|ireland',
  'Europe/Helsinki': 'helsinki|finland',
  'Europe/Istanbul': 'istanbul|ankara|turkey',
  'Europe/Kyiv': 'kyiv|kiev|ukraine',
  'Europe/Lisbon': 'lisbon|porto|portugal',
  'Europe/London': 'london|edinburgh|manchester|uk|england|britain|united kingdom|scotland',
  'Europe/Madrid': 'madrid|barcelona|spain',
  'Europe/Moscow': 'moscow|russia',
  'Europe/Oslo': 'oslo|norway',
  'Europe/Paris': 'paris|lyon|marseille|france',
  'Europe/Prague': 'prague|czechia',
  'Europe/Rome': 'rome|milan|naples|italy',
  'Europe/Stockholm': 'stockholm|sweden',
  'Europe/Vienna': 'vienna|austria',
  'Europe/Warsaw': 'warsaw|krakow|poland',
  'Europe/Zurich': 'zurich|zürich|geneva|basel|bern|switzerland',
  'Pacific/Auckland': 'auckland|wellington|new zealand',
  'Pacific/Honolulu': 'honolulu|hawaii',
  UTC: 'utc|gmt|greenwich|zulu',
};

const zoneByCity = new Map(
  Object.entries(citiesByZone).flatMap(([zone, cities]) =>
    cities.split('|').map((city) => [city, zone] as const),
  ),
);

/** The IANA zone of a place; an unknown place comes back as given, for the tool to judge. */
export function zoneOf(place: string): string {
  const name = place.trim().replace(/^the\s+/i, '');
  return zoneByCity.get(name.toLowerCase()) ?? name;
}
