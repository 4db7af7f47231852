import type { Task } from '@trunkline/a2a';
import { activityContext } from '../activity/activity-observer.ts';

/** Where a conversation began: on the page or at the chat API, in a terminal, on a chat platform, at another agent, in the inbox. */
export type ChatOrigin = 'chat' | 'terminal' | 'platform' | 'a2a' | 'inbox';

/** Who is at the other end of a conversation, as a list of them can be narrowed. */
export const chatSources = {
  all: ['chat', 'terminal', 'platform', 'a2a', 'inbox'],
  people: ['chat', 'terminal', 'platform'],
  a2a: ['a2a'],
  inbox: ['inbox'],
} as const satisfies Record<string, readonly ChatOrigin[]>;

/** Undefined for turns of schedules: each is a conversation of its own, and stands under Activity. */
export function originOf({ contextId, metadata = {} }: Task): ChatOrigin | undefined {
  if (metadata.scheduler_job_id !== undefined) return undefined;
  if (contextId === activityContext) return 'inbox';
  const { channel } = metadata;
  return channel === 'chat' || channel === 'terminal' || channel === 'platform' ? channel : 'a2a';
}
