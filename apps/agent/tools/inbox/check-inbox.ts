import { defineTool, type Tool } from '@trunkline/llm';
import { clamp, oneLine, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import { type InboxItem, type InboxStore, PRIORITIES } from '../../stores/inbox-store.ts';

const MOST = 50;
const LONGEST_TEXT = 2000;

const input = z.object({
  priority_floor: z.enum(PRIORITIES).default('next').describe('The least urgent priority to give.'),
  limit: z.number().int().default(10).describe('How many, at most 50.'),
});

export function createCheckInbox(inbox: Pick<InboxStore, 'take'>): Tool {
  return defineTool({
    name: 'check_inbox',
    description:
      'Gives the items that came in from outside and marks them delivered. Items of priority now have started a turn already.',
    input,
    execute: ({ priority_floor, limit }) =>
      orRefusal(() => {
        const items = inbox.take({ floor: priority_floor, limit: clamp(limit, 1, MOST) });
        return items.length === 0 ? 'Inbox empty.' : items.map(line).join('\n');
      }),
  });
}

function line({ id, priority, source, text }: InboxItem): string {
  return `#${id} [${priority}] ${source === '' ? '' : `${source}: `}${oneLine(text, LONGEST_TEXT)}`;
}
