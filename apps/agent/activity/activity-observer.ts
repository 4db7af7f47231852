import type { Task, TaskObserver } from '@trunkline/a2a';
import { taskText } from '../turns/task-text.ts';
import type { ActivityFeed, ActivityMessage } from './activity-feed.ts';

/** The conversation that the agent has with itself: what comes in urgently starts a turn in it. */
export const activityContext = 'system:activity';

/**
 * Puts turns that nobody in a conversation asked for into the public feed. Conversations stay out of it: anybody may
 * read the feed.
 */
export function observeActivity(feed: ActivityFeed): TaskObserver {
  const show = (task: Task, role: ActivityMessage['role'], text: string) => {
    const source = sourceOf(task);
    if (source !== undefined) feed.message({ role, text, context_id: task.contextId, ...source });
  };
  return {
    turnStarted: (task) => show(task, 'user', lastUserText(task)),
    turnEnded: (task) => show(task, 'assistant', taskText(task)),
  };
}

function sourceOf({
  contextId,
  metadata = {},
}: Task): Pick<ActivityMessage, 'origin' | 'trigger' | 'priority'> | undefined {
  if (metadata.scheduler_job_id !== undefined) {
    return { origin: 'scheduler', trigger: String(metadata.scheduler_job_id), priority: null };
  }
  if (contextId !== activityContext) return undefined;
  const trigger = metadata.inbox_item_id;
  return {
    origin: trigger === undefined ? 'message' : 'inbox',
    trigger: trigger === undefined ? null : String(trigger),
    priority: trigger === undefined ? null : 'now',
  };
}

function lastUserText({ history }: Task): string {
  const parts = history.findLast(({ role }) => role === 'user')?.parts ?? [];
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
