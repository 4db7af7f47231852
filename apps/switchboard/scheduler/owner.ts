import { unescapeSegment } from '@trunkline/bus';
import type { CronRecord } from '../workspace/schema/cron.ts';

/** Whose a schedule is: as recorded, else the agent of the topic `cron.<agent>.<job>`; null when it is the operator's alone. */
export function ownerOf({ owner, topic }: Pick<CronRecord, 'owner' | 'topic'>): string | null {
  if (owner !== undefined) return owner;
  const [prefix, agent, job] = topic.split('.');
  return prefix === 'cron' && agent !== undefined && job !== undefined ? unescapeSegment(agent) : null;
}
