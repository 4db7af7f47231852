import { defineTool, type Tool } from '@trunkline/llm';
import { clamp, oneLine } from '@trunkline/tools';
import { z } from 'zod';
import { type InboxItem, type InboxStore, PRIORITIES } from '../stores/inbox-store.ts';
import { defineToolModule, type ToolDeps } from './tool-module.ts';

const maxItems = 50;
const maxLineLength = 2000;

const input = z.object({
  priority_floor: z.enum(PRIORITIES).default('next').describe('The least urgent priority to give.'),
  limit: z.number().int().default(10).describe('How many, at most 50.'),
});

export const inboxTools = defineToolModule({
  name: 'inbox',
  tools: ({ stores: { inbox }, actor }) => (inbox === undefined ? [] : [checkInbox(inbox, actor)]),
});

function checkInbox(inbox: InboxStore, actor: ToolDeps['actor']): Tool {
  return defineTool({
    name: 'check_inbox',
    effects: ['reads'],
    external: true,
    description:
      'Gives the items that came in from outside and marks them delivered. Items of priority now have started a turn already.',
    input,
    execute: async ({ priority_floor, limit }, { principal, ownWords }) => {
      const query = { floor: priority_floor, limit: clamp(limit, 1, maxItems) };
      const items = inbox.for(actor(principal)).take(query);
      if (items.length > 0) return items.map(line).join('\n');
      ownWords?.();
      return 'Inbox empty.';
    },
  });
}

function line({ id, priority, source, text }: InboxItem): string {
  return `#${id} [${priority}] ${source === '' ? '' : `${source}: `}${oneLine(text, maxLineLength)}`;
}
