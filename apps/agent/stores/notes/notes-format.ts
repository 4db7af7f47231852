import { z } from 'zod';

const versionSchema = z.object({ content: z.string(), at: z.string() });

const tabSchema = z.object({
  id: z.string().min(1),
  name: z.string().min(1),
  content: z.string(),
  permissions: z.object({ agentRead: z.boolean(), agentWrite: z.boolean() }),
  metadata: z.object({
    createdAt: z.string(),
    updatedAt: z.string(),
    wordCount: z.number(),
    characterCount: z.number(),
    /** Earlier contents, oldest first. */
    history: z.array(versionSchema),
  }),
});

/** The file of notes as it is stored. */
export const workspaceSchema = z
  .object({
    version: z.literal(1),
    /** Goes up with every change. */
    workspaceVersion: z.number().int().nonnegative(),
    activeTabId: z.string(),
    tabOrder: z.array(z.string()),
    tabs: z.record(z.string(), tabSchema),
  })
  .refine(({ tabs }) => Object.entries(tabs).every(([id, tab]) => id === tab.id), {
    error: 'every tab must stand under its own id',
  });

export type NotesTab = z.output<typeof tabSchema>;
export type NotesWorkspace = z.output<typeof workspaceSchema>;

/** What a new notebook holds: one tab that the agent may read and write. */
export function emptyWorkspace(now: string): NotesWorkspace {
  const tab: NotesTab = {
    id: 'notes',
    name: 'Notes',
    content: '',
    permissions: { agentRead: true, agentWrite: true },
    metadata: { createdAt: now, updatedAt: now, wordCount: 0, characterCount: 0, history: [] },
  };
  return {
    version: 1,
    workspaceVersion: 0,
    activeTabId: tab.id,
    tabOrder: [tab.id],
    tabs: { [tab.id]: tab },
  };
}
