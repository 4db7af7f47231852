import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { NotesStore } from '../../stores/notes/notes-store.ts';

const input = z.object({
  tab: z.string(),
  steps: z.number().int().default(1).describe('How many versions to go back.'),
});

export function createNotesRevert(notes: Pick<NotesStore, 'revert'>): Tool {
  return defineTool({
    name: 'notes_revert',
    description: 'Takes a tab of the notes back to an earlier version.',
    input,
    execute: ({ tab, steps }) =>
      orRefusal(async () => {
        const { name, metadata } = await notes.revert(tab, steps);
        return `Took '${name}' back by ${steps} version(s); ${metadata.history.length} earlier one(s) left.`;
      }),
  });
}
