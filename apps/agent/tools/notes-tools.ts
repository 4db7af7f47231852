import { joinOrigins } from '@trunkline/identity';
import { defineTool, type Tool, type ToolContext } from '@trunkline/llm';
import { z } from 'zod';
import type { NotesStore, NotesTab } from '../stores/notes/notes-store.ts';
import { defineToolModule } from './tool-module.ts';

export const notesTools = defineToolModule({
  name: 'notes',
  tools({ stores: { notes }, actor }) {
    if (notes === undefined) return [];
    const notesOf: NotesOf = ({ principal }) => notes.for(actor(principal));
    return [notesList(notesOf), notesRead(notesOf), notesWrite(notesOf), notesRevert(notesOf)];
  },
});

type NotesOf = (context: Pick<ToolContext, 'principal'>) => NotesStore;

function notesList(notesOf: NotesOf): Tool {
  const flag = (isOn: boolean) => (isOn ? 'on' : 'off');
  return defineTool({
    name: 'notes_list',
    effects: ['reads'],
    description: 'Lists the tabs of the notes and whether you may read or write each.',
    input: z.object({}),
    async execute(_, context) {
      const notes = notesOf(context);
      const tabs = notes.tabs();
      context.addOrigins?.(joinOrigins(...tabs.map((tab) => notes.originsOf(tab))));
      const lines = tabs.map(
        ({ name, permissions: { agentRead, agentWrite } }) =>
          `${name} (read: ${flag(agentRead)}, write: ${flag(agentWrite)})`,
      );
      return lines.length === 0 ? 'No tabs.' : lines.join('\n');
    },
  });
}

function notesRead(notesOf: NotesOf): Tool {
  return defineTool({
    name: 'notes_read',
    effects: ['reads'],
    description: 'Reads a tab of the notes, or every tab that is shared with you.',
    input: z.object({ tab: z.string().default('').describe('Name of the tab; empty for all of them.') }),
    execute: async ({ tab }, context) => {
      const notes = notesOf(context);
      const read = tab.trim() === '' ? readable(notes) : [notes.readTab(tab)];
      context.addOrigins?.(joinOrigins(...read.map((each) => notes.originsOf(each))));
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

function notesWrite(notesOf: NotesOf): Tool {
  return defineTool({
    name: 'notes_write',
    effects: ['writes'],
    description: 'Adds to a tab of the notes, or replaces its content. Ten earlier versions are kept.',
    input: z.object({
      tab: z.string().describe('Name of a tab.'),
      content: z.string(),
      mode: z.enum(['append', 'replace']).default('append'),
      create: z.boolean().default(false).describe('Makes a missing tab.'),
    }),
    execute: async ({ tab, content, mode, create }, context) => {
      const origins = context.principal?.origins;
      if (create) await notesOf(context).ensure(tab);
      const { name, metadata } = await notesOf(context).write(tab, content, mode, origins);
      const done = mode === 'append' ? 'Added to' : 'Replaced';
      return `${done} '${name}' (${metadata.wordCount} words, ${metadata.characterCount} characters).`;
    },
  });
}

function notesRevert(notesOf: NotesOf): Tool {
  return defineTool({
    name: 'notes_revert',
    effects: ['writes'],
    description: 'Takes a tab of the notes back to an earlier version.',
    input: z.object({
      tab: z.string(),
      steps: z.number().int().default(1).describe('How many versions to go back.'),
    }),
    execute: async ({ tab, steps }, context) => {
      const { name, metadata } = await notesOf(context).revert(tab, steps);
      return `Took '${name}' back by ${steps} version(s); ${metadata.history.length} earlier one(s) left.`;
    },
  });
}
