import { BusError } from '../errors.ts';
import { checkName } from '../names.ts';
import type { Handler, SubscribeOptions } from '../port.ts';
import { checkPattern } from '../topics/topic.ts';
import type { DurableOptions, Member } from './attempts.ts';
import type { LiveLimits, LiveOptions } from './live-subscription.ts';

const defaultLimits: LiveLimits = { concurrency: 1, queueLimit: 1000, policy: 'drop-oldest' };

export type CheckedSubscription =
  | { kind: 'live'; group: string | undefined; live: LiveOptions }
  | { kind: 'durable'; durable: DurableOptions; member: Member };

/** Checks what a subscriber asks for and fills in the defaults. */
export function checkSubscription(
  pattern: string,
  handler: Handler,
  options: SubscribeOptions,
): CheckedSubscription {
  checkPattern(pattern);
  const { durable, group, policy, plugin } = options;
  if (durable !== undefined) checkName('durable', durable);
  if (group !== undefined) checkName('group', group);
  const concurrency = checkCount('concurrency', options.concurrency ?? defaultLimits.concurrency);
  const queueLimit = checkCount('queueLimit', options.queueLimit ?? defaultLimits.queueLimit);
  if (durable === undefined) {
    if (options.explicitBegin) throw new BusError('options_refused', beginWords);
    const limits = sharedLimits({ concurrency, queueLimit, policy: policy ?? defaultLimits.policy });
    return { kind: 'live', group, live: { pattern, handler, plugin, limits } };
  }
  if (policy !== undefined) throw new BusError('options_refused', policyWords);
  return {
    kind: 'durable',
    durable: { name: durable, pattern, group, concurrency, queueLimit },
    member: { handler, plugin, explicitBegin: options.explicitBegin ?? false },
  };
}

/** Most subscriptions have the defaults: those hold one object together. */
function sharedLimits(limits: LiveLimits): LiveLimits {
  const keys = Object.keys(defaultLimits) as (keyof LiveLimits)[];
  return keys.every((key) => limits[key] === defaultLimits[key]) ? defaultLimits : limits;
}

/** Throws when a second subscriber of a durable name asks for something else than the first. */
export function checkSameDurable(known: DurableOptions, wanted: DurableOptions): void {
  const differing = (['pattern', 'group', 'concurrency'] as const).find((key) => known[key] !== wanted[key]);
  if (differing === undefined) return;
  const words = `The durable name ${known.name} is in use with ${differing} ${JSON.stringify(known[differing])}, not ${JSON.stringify(wanted[differing])}: subscribe alike, or use another name.`;
  throw new BusError('durable_conflict', words);
}

function checkCount(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError('options_refused', `${option} is ${value}: give a whole number of at least 1.`);
}

const policyWords =
  'A durable subscription drops nothing, so it takes no "policy": leave it out, or subscribe without "durable".';

const beginWords =
  'Only the attempts of a durable subscription are counted, so others take no "explicitBegin": leave it out, or give "durable".';
