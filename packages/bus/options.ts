import { BusError } from './errors.ts';
import type { BusLogger } from './port.ts';

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

const defaults: Settings = {
  maxAttempts: 5,
  retryDelayMs: 100,
  retainMs: 7 * day,
  retainBytes: 1_073_741_824,
  forgetAfterMs: 7 * day,
  maintainEveryMs: 60_000,
  drainTimeoutMs: 10_000,
};

export function settingsOf(options: CommonOptions): Settings {
  const settings = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof Settings)[]) {
    const value = options[name] ?? defaults[name];
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new BusError(
        'options_refused',
        `The bus option ${name} is ${value}: give a whole number of at least 1.`,
      );
    }
    settings[name] = value;
  }
  return settings;
}

export const silentLogger: BusLogger = { info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // Nobody asked for a log.
}
