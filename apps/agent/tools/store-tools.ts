import type { Tool } from '@trunkline/llm';
import type { AgentStores } from '../stores/stores.ts';
import { createBeadsClose } from './beads/beads-close.ts';
import { createBeadsCreate } from './beads/beads-create.ts';
import { createBeadsList } from './beads/beads-list.ts';
import { createBeadsUpdate } from './beads/beads-update.ts';
import { createCheckInbox } from './inbox/check-inbox.ts';
import { createDailyLog } from './memory/daily-log.ts';
import { createMemoryIngest } from './memory/memory-ingest.ts';
import { createMemoryList } from './memory/memory-list.ts';
import { createMemoryRecall } from './memory/memory-recall.ts';
import { createMemoryStats } from './memory/memory-stats.ts';
import { createNotesList } from './notes/notes-list.ts';
import { createNotesRead } from './notes/notes-read.ts';
import { createNotesRevert } from './notes/notes-revert.ts';
import { createNotesWrite } from './notes/notes-write.ts';

/** The stores that are there; a store that is left out takes its tools with it. */
export type StoresForTools = Partial<Pick<AgentStores, 'notes' | 'knowledge' | 'beads' | 'inbox'>>;

export function storeTools(stores: StoresForTools): Tool[] {
  const { notes, knowledge, beads, inbox } = stores;
  return [
    ...(notes === undefined ? [] : noteTools(notes)),
    ...(knowledge === undefined ? [] : memoryTools(knowledge)),
    ...(beads === undefined ? [] : beadTools(beads)),
    ...(inbox === undefined ? [] : [createCheckInbox(inbox)]),
  ];
}

function noteTools(notes: AgentStores['notes']): Tool[] {
  return [createNotesList(notes), createNotesRead(notes), createNotesWrite(notes), createNotesRevert(notes)];
}

function memoryTools(knowledge: NonNullable<AgentStores['knowledge']>): Tool[] {
  return [
    createMemoryIngest(knowledge),
    createMemoryRecall(knowledge),
    createMemoryList(knowledge),
    createMemoryStats(knowledge),
    createDailyLog(knowledge),
  ];
}

function beadTools(beads: AgentStores['beads']): Tool[] {
  return [
    createBeadsCreate(beads),
    createBeadsList(beads),
    createBeadsUpdate(beads),
    createBeadsClose(beads),
  ];
}
