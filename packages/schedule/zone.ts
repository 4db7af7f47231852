import { ScheduleError } from './errors.ts';

/** A wall time is what a clock in the zone shows, written as the milliseconds it would be in UTC. */
export class Zone {
  readonly #format: Intl.DateTimeFormat | undefined;
  readonly #offsets = new Map<number, number>();

  constructor(name: string) {
    // Usual, and the first use of Intl takes 35 ms of a start.
    if (name === 'UTC') return;
    const format = zoneFormat(name);
    this.#format = format.resolvedOptions().timeZone === 'UTC' ? undefined : format;
  }

  /** How far the wall clock is ahead of UTC at that instant, in milliseconds. */
  offsetAt(instant: number): number {
    if (this.#format === undefined) return 0;
    const today = Math.floor(instant / day);
    const offset = this.#offsetAtStart(this.#format, today);
    // No zone changes its clock twice within a day.
    return offset === this.#offsetAtStart(this.#format, today + 1)
      ? offset
      : readOffset(this.#format, instant);
  }

  wallAt(instant: number): number {
    return instant + this.offsetAt(instant);
  }

  /** When the wall clock shows that time: once as a rule, twice where it was put back, never where it was put forward. */
  instantsOf(wall: number): number[] {
    const offsets = new Set([this.offsetAt(wall - day), this.offsetAt(wall + day)]);
    return [...offsets]
      .map((offset) => wall - offset)
      .filter((instant) => this.wallAt(instant) === wall)
      .sort((one, other) => one - other);
  }

  /** The instant at which the clock jumped over that wall time, which it never shows. */
  endOfGap(wall: number): number {
    const [first, second] = [wall - this.offsetAt(wall + day), wall - this.offsetAt(wall - day)];
    return this.#transition(first, second);
  }

  /** The wall times that the clock shows twice around that instant, and when it was put back; undefined elsewhere. */
  repeatAround(instant: number): { start: number; end: number; putBackAt: number } | undefined {
    const wall = this.wallAt(instant);
    const [first, second] = this.instantsOf(wall);
    if (first === undefined || second === undefined) return undefined;
    const putBackAt = this.#transition(first, second);
    return { start: putBackAt + wall - second, end: putBackAt + wall - first, putBackAt };
  }

  #offsetAtStart(format: Intl.DateTimeFormat, today: number): number {
    const known = this.#offsets.get(today);
    if (known !== undefined) return known;
    const offset = readOffset(format, today * day);
    if (this.#offsets.size >= keptOffsets) this.#offsets.clear();
    this.#offsets.set(today, offset);
    return offset;
  }

  /** The first instant after `low` with the offset that holds at `high`. */
  #transition(low: number, high: number): number {
    const offset = this.offsetAt(high);
    let [before, after] = [low, high];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetAt(middle) === offset) after = middle;
      else before = middle;
    }
    return after;
  }
}

const day = 86_400_000;
const keptOffsets = 5000;
const zones = new Map<string, Zone>();

/** The zone of that IANA name; throws a ScheduleError when there is none. */
export function zoneOf(name: string): Zone {
  // Zone names ignore case: one entry for all spellings also bounds the map.
  const key = name.toLowerCase();
  const known = zones.get(key);
  if (known !== undefined) return known;
  const zone = new Zone(name);
  zones.set(key, zone);
  return zone;
}

/** The zone of this machine; the variable TZ is respected. A change is seen a second later, as the question takes its time. */
export function systemTimezone(): string {
  const now = performance.now();
  if (system === undefined || now > system.until) system = { name: readSystemTimezone(), until: now + 1000 };
  return system.name;
}

let system: { name: string; until: number } | undefined;

function readSystemTimezone(): string {
  const name = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return isTimezone(name) ? name : 'UTC';
}

/** Whether it is the IANA name of a zone. */
export function isTimezone(name: string): boolean {
  try {
    zoneOf(name);
    return true;
  } catch (error) {
    if (error instanceof ScheduleError) return false;
    throw error;
  }
}

function zoneFormat(name: string): Intl.DateTimeFormat {
  try {
    // Bare offsets such as +02:00 are no zones: they know no summer time.
    if (!/^[A-Za-z]/.test(name)) throw new RangeError(`${name} is no zone name`);
    return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  } catch (error) {
    const words = `"${name}" is no time zone: use an IANA name such as Europe/Berlin, or UTC.`;
    throw new ScheduleError('timezone_unknown', words, { cause: error });
  }
}

/** Reads the end of a text such as `1/15/2026, GMT-03:30`. */
function readOffset(format: Intl.DateTimeFormat, instant: number): number {
  const match = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(format.format(instant));
  if (match === null) return 0;
  const [, sign, hours, minutes, seconds = '0'] = match;
  const size = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -size : size;
}
