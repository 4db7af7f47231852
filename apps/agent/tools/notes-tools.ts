import { joinOrigins } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { NotesStore, NotesTab } from '../stores/notes/notes-store.ts';
import { defineToolModule } from './tool-module.ts';

export const notesTools = defineToolModule({
  name: 'notes',
  tools: ({ stores: { notes } }) =>
    notes === undefined ? [] : [notesList(notes), notesRead(notes), notesWrite(notes), notesRevert(notes)],
});

function notesList(notes: NotesStore): Tool {
  const flag = (isOn: boolean) => (isOn ? 'on' : 'off');
  return defineTool({
    name: 'notes_list',
    effects: ['reads'],
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

function notesRead(notes: NotesStore): Tool {
  return defineTool({
    name: 'notes_read',
    effects: ['reads'],
    description: 'Reads a tab of the notes, or every tab that is shared with you.',
    input: z.object({ tab: z.string().default('').describe('Name of the tab; empty for all of them.') }),
    execute: async ({ tab }, { addOrigins }) => {
      const read = tab.trim() === '' ? readable(notes) : [notes.readTab(tab)];
      addOrigins?.(joinOrigins(...read.map(({ metadata }) => metadata.origins)));
      return tab.trim() === '' ? allText(read) : read[0]?.content || '(empty)';
    },
  });
}

function readable(notes: NotesStore): NotesTab[] {
  return notes.tabs().filter(({ permissions }) => permissions.agentRead);
}

function allText(tabs: readonly NotesTab[]): string {
  if (tabs.length === 0) return 'No tab is shared with you.';
  return tabs.map(({ name, content }) => `## ${name}\n${content || '(empty)'}`).join('\n\n');
}

function notesWrite(notes: NotesStore): Tool {
  return defineTool({
    name: 'notes_write',
    effects: ['writes'],
    description: 'Adds to a tab of the notes, or replaces its content. Ten earlier versions are kept.',
    input: z.object({
      tab: z.string().describe('Name of an existing tab.'),
      content: z.string(),
      mode: z.enum(['append', 'replace']).default('append'),
    }),
    execute: async ({ tab, content, mode }, { principal }) => {
      const { name, metadata } = await notes.write(tab, content, mode, principal?.origins);
      const done = mode === 'append' ? 'Added to' : 'Replaced';
      return `${done} '${name}' (${metadata.wordCount} words, ${metadata.characterCount} characters).`;
    },
  });
}

function notesRevert(notes: NotesStore): Tool {
  return defineTool({
    name: 'notes_revert',
    effects: ['writes'],
    description: 'Takes a tab of the notes back to an earlier version.',
    input: z.object({
      tab: z.string(),
      steps: z.number().int().default(1).describe('How many versions to go back.'),
    }),
    execute: async ({ tab, steps }) => {
      const { name, metadata } = await notes.revert(tab, steps);
      return `Took '${name}' back by ${steps} version(s); ${metadata.history.length} earlier one(s) left.`;
    },
  });
}
