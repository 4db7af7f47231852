import type { NotesTab as NoteTab, NotesWorkspace as Workspace } from '../../../stores/notes/notes-format.ts';

export type { NoteTab, Workspace };

/** All tabs in their order. */
export function tabsOf({ tabOrder, tabs }: Workspace): NoteTab[] {
  const ordered = tabOrder.flatMap((id) => tabs[id] ?? []);
  return [...ordered, ...Object.values(tabs).filter(({ id }) => !tabOrder.includes(id))];
}

export function withTab(workspace: Workspace, tab: NoteTab): Workspace {
  const tabOrder = workspace.tabOrder.includes(tab.id) ? workspace.tabOrder : [...workspace.tabOrder, tab.id];
  return { ...workspace, tabOrder, tabs: { ...workspace.tabs, [tab.id]: tab } };
}

export function withoutTab(workspace: Workspace, id: string): Workspace {
  const { [id]: _, ...tabs } = workspace.tabs;
  const tabOrder = workspace.tabOrder.filter((known) => known !== id);
  return { ...workspace, tabs, tabOrder, activeTabId: tabOrder[0] ?? '' };
}

/** A tab with nothing in it, under an id that no other has. */
export function newTab({ tabs }: Workspace, name: string): NoteTab {
  const now = new Date().toISOString();
  const slug = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-') || 'tab';
  let id = slug;
  for (let number = 2; tabs[id] !== undefined; number += 1) id = `${slug}-${number}`;
  return {
    id,
    name,
    content: '',
    permissions: { agentRead: true, agentWrite: false },
    metadata: { createdAt: now, updatedAt: now, wordCount: 0, characterCount: 0, history: [] },
  };
}
