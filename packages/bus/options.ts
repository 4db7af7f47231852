import { BusError } from './errors.ts';
import { checkName } from './identifier.ts';
import type { BusLogger, LeaseOptions, MemoryOptions } from './port.ts';

const longestValue = 1024;
/** Three bytes for a character still fit into a message of NATS. */
const mostLongest = 300_000;

const shortestTtlMs = 1000;

/** Settings that both engines share, each with a default. */
export interface CommonOptions {
  /** Patterns of the topics that are journalled. */
  durableTopics?: readonly string[];
  logger?: BusLogger;
  /** Attempts before a message goes to the dead letters; default 5. */
  maxAttempts?: number;
  /** Before the second attempt, doubled for each further one; default 100. */
  retryDelayMs?: number;
  /** How long journalled messages are kept; default 7 days. */
  retainMs?: number;
  /** How much the journal may hold; default 1 GiB. */
  retainBytes?: number;
  /** After this time without a subscriber a durable name loses its cursor; default 7 days. */
  forgetAfterMs?: number;
  /** Between two removals of what is too old; default one minute. */
  maintainEveryMs?: number;
  /** How long `stop` waits for handlers; default 10 seconds. */
  drainTimeoutMs?: number;
}

export type Settings = Required<Omit<CommonOptions, 'durableTopics' | 'logger'>>;

const day = 86_400_000;

/** What the journal holds where nobody says otherwise. */
export const defaultRetainBytes = 2 ** 30;

const defaults: Settings = {
  maxAttempts: 5,
  retryDelayMs: 100,
  retainMs: 7 * day,
  retainBytes: defaultRetainBytes,
  forgetAfterMs: 7 * day,
  maintainEveryMs: 60_000,
  drainTimeoutMs: 10_000,
};

export function settingsOf(options: CommonOptions): Settings {
  return checkedNumbers(options, defaults);
}

/** The given numbers, and the defaults of those that are not given. */
export function checkedNumbers<Name extends string>(
  given: { readonly [Key in NoInfer<Name>]?: number | undefined },
  defaults: Record<Name, number>,
): Record<Name, number> {
  const numbers = { ...defaults };
  for (const name of Object.keys(defaults) as Name[]) {
    const value = given[name] ?? defaults[name];
    if (!Number.isSafeInteger(value) || value < 1)
      throw new BusError(
        'options_refused',
        `The bus option ${name} is ${value}: give a whole number of at least 1.`,
      );
    numbers[name] = value;
  }
  return numbers;
}

export const silentLogger: BusLogger = { info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // Nobody asked for a log.
}

export function checkLease(name: string, { ttlMs }: LeaseOptions): void {
  checkName('lease', name);
  checkTimeToLive(ttlMs);
}

function checkTimeToLive(ttlMs: number): void {
  if (Number.isSafeInteger(ttlMs) && ttlMs >= shortestTtlMs) return;
  throw new BusError(
    'options_refused',
    `ttlMs is ${ttlMs}: give at least ${shortestTtlMs} whole milliseconds.`,
  );
}

export function checkMemory(name: string, { ttlMs, longest = longestValue }: MemoryOptions): void {
  checkName('memory', name);
  checkTimeToLive(ttlMs);
  if (Number.isSafeInteger(longest) && longest >= 1 && longest <= mostLongest) return;
  throw new BusError('options_refused', `longest is ${longest}: give 1 to ${mostLongest}.`);
}

/** Keys are subjects of NATS in the end. */
export function checkKey(key: string): void {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(key)) return;
  const words = `The key ${JSON.stringify(key)} is refused: give up to 128 letters, digits, - and _; a hash will do.`;
  throw new BusError('name_refused', words);
}

export function checkValue(value: string, longest = longestValue): void {
  if (value.length <= longest) return;
  throw new BusError(
    'message_too_large',
    `A value of ${value.length} characters is refused: keep at most ${longest}.`,
  );
}
