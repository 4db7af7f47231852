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
}

export const operator: Caller = { name: 'operator', admin: true, publish: ['#'], subscribe: ['#'] };

export function maySee(caller: Caller, topic: string): boolean {
  return matchesAny(caller.subscribe, topic);
}

export function mayPublish(caller: Caller, topic: string): boolean {
  return matchesAny(caller.publish, topic);
}
