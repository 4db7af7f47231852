import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { NotesStore } from '../../stores/notes/notes-store.ts';

export function createNotesList(notes: Pick<NotesStore, 'tabs'>): Tool {
  return defineTool({
    name: 'notes_list',
    description: 'Lists the tabs of the notes and whether you may read or write each.',
    input: z.object({}),
    async execute() {
      const lines = notes
        .tabs()
        .map(
          ({ name, permissions: { agentRead, agentWrite } }) =>
            `${name} (read: ${flag(agentRead)}, write: ${flag(agentWrite)})`,
        );
      return lines.length === 0 ? 'No tabs.' : lines.join('\n');
    },
  });
}

function flag(on: boolean): string {
  return on ? 'on' : 'off';
}
