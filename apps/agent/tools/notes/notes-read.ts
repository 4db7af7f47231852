import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { NotesStore } from '../../stores/notes/notes-store.ts';

export function createNotesRead(notes: Pick<NotesStore, 'tabs' | 'read'>): Tool {
  return defineTool({
    name: 'notes_read',
    description: 'Reads a tab of the notes, or every tab that is shared with you.',
    input: z.object({ tab: z.string().default('').describe('Name of the tab; empty for all of them.') }),
    execute: ({ tab }) =>
      orRefusal(() => (tab.trim() === '' ? readAll(notes) : notes.read(tab) || '(empty)')),
  });
}

function readAll(notes: Pick<NotesStore, 'tabs'>): string {
  const readable = notes.tabs().filter(({ permissions }) => permissions.agentRead);
  if (readable.length === 0) return 'No tab is shared with you.';
  return readable.map(({ name, content }) => `## ${name}\n${content || '(empty)'}`).join('\n\n');
}
