import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { NotesStore } from '../../stores/notes/notes-store.ts';

const input = z.object({
  tab: z.string().describe('Name of an existing tab.'),
  content: z.string(),
  mode: z.enum(['append', 'replace']).default('append'),
});

export function createNotesWrite(notes: Pick<NotesStore, 'write'>): Tool {
  return defineTool({
    name: 'notes_write',
    description: 'Adds to a tab of the notes, or replaces its content. Ten earlier versions are kept.',
    input,
    execute: ({ tab, content, mode }) =>
      orRefusal(async () => {
        const { name, metadata } = await notes.write(tab, content, mode);
        const done = mode === 'append' ? 'Added to' : 'Replaced';
        return `${done} '${name}' (${metadata.wordCount} words, ${metadata.characterCount} characters).`;
      }),
  });
}
