import { keeperOf, keepWithin, type Room } from '../owners.ts';
import { AuditLog } from './audit-log.ts';
import { BeadsStore } from './beads-store.ts';
import { GoalStore } from './goals/goal-store.ts';
import { InboxStore } from './inbox-store.ts';
import { type KnowledgeOptions, KnowledgeStore } from './knowledge/knowledge-store.ts';
import { NotesStore } from './notes/notes-store.ts';

export interface StoreOptions {
  /** Where each store stands; the paths are already those of the instance. */
  places: Record<'knowledge' | 'notes' | 'beads' | 'goals' | 'audit' | 'inbox', string>;
  embedder?: KnowledgeOptions['embedder'];
  /** Words for an owner who would keep too much. */
  room?: Room;
  /** Values that never reach the audit log. */
  secrets?: Iterable<string>;
  /** False leaves the store out, and its tools with it. */
  enabled?: { knowledge?: boolean; audit?: boolean };
  logger: Log;
}

interface Log {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface AgentStores {
  notes: NotesStore;
  knowledge: KnowledgeStore | undefined;
  beads: BeadsStore;
  inbox: InboxStore;
  goals: GoalStore;
  audit: AuditLog | undefined;
  /** What an owner keeps in all of them; the size of goals is bounded by itself. */
  bytesOf(owner: string): number;
  close(): Promise<void>;
}

/** Opens all stores of one instance. */
export async function openStores({
  places,
  embedder,
  room = () => undefined,
  secrets = [],
  enabled = {},
  logger,
}: StoreOptions): Promise<AgentStores> {
  const notes = await NotesStore.open(places.notes);
  const beads = new BeadsStore(places.beads);
  const inbox = new InboxStore(places.inbox);
  const keep = (scope: string, bytes: number) => keepWithin(room, keeperOf(scope), bytes);
  const knowledge =
    enabled.knowledge === false
      ? undefined
      : new KnowledgeStore({ path: places.knowledge, embedder, keep, logger });
  const audit = enabled.audit === false ? undefined : new AuditLog({ path: places.audit, secrets, logger });
  return {
    notes,
    knowledge,
    beads,
    inbox,
    goals: new GoalStore(places.goals),
    audit,
    bytesOf: (owner) =>
      [notes, beads, inbox, knowledge].reduce((sum, store) => sum + (store?.bytesOf(owner) ?? 0), 0),
    async close() {
      await knowledge?.close();
      beads.close();
      inbox.close();
    },
  };
}
