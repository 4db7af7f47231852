import { matchesAny } from './topics.ts';

/** Who is calling, and what the key allows. */
export interface Caller {
  name: string;
  /** May do everything that is not limited to the switchboard itself. */
  admin: boolean;
  /** Patterns of topics that the key may write to. */
  publish: readonly string[];
  /** Patterns of topics that the key may read. */
  subscribe: readonly string[];
  /** Has no key: may ask agents, publish messages and read, and has schedules that lead to agents; nothing else. */
  guest?: true;
}

export const operator: Caller = { name: 'operator', admin: true, publish: ['#'], subscribe: ['#'] };

/** Whoever is let in without a key, and whoever another of our services asks for. */
export const guest: Caller = {
  name: 'anonymous',
  admin: false,
  guest: true,
  publish: ['#'],
  subscribe: ['#'],
};

export function maySee(caller: Caller, topic: string): boolean {
  return matchesAny(caller.subscribe, topic);
}

export function mayPublish(caller: Caller, topic: string): boolean {
  return matchesAny(caller.publish, topic);
}
