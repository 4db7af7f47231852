import { randomUUID } from 'node:crypto';
import { joinOrigins, maySee, type Origin } from '@trunkline/identity';
import { ownersOf, readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { type Actor, operatorActor } from '../../owners.ts';
import { StoreError } from '../store-error.ts';

const originsSchema = z.array(z.object({ kind: z.string(), source: z.string() })).optional();

/** Versions of before origins were stored have none, as the tab had none. */
const versionSchema = z.object({ content: z.string(), at: z.string(), origins: originsSchema });

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
    /** What it was drawn from beyond the operator's trust. */
    origins: originsSchema,
    /** Missing in the first tab and in those of before they had owners, which are everybody's. */
    owner: z.string().optional(),
  }),
});

/** The file of notes as it is stored. */
const workspaceSchema = z
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

const KEPT_VERSIONS = 10;
const MAX_TAB_LENGTH = 1_000_000;
/** Of one owner. */
const MOST_TABS = 200;
/** Of one owner, the operator excepted, with earlier versions: all tabs stand in one file, which each change writes. */
const MOST_BYTES = 20_000_000;
const LONGEST_NAME = 80;
/** The kind of an origin that is another person's writing in a tab. */
const NOTE = 'note';

/** What all views of one notebook have in common. */
interface Notebook {
  path: string;
  workspace: NotesWorkspace;
  now: () => Date;
}

/**
 * One notebook of tabs in a JSON file; each tab keeps its last ten earlier contents. As the operator sees it, `for`
 * gives it as others do.
 */
export class NotesStore {
  readonly #notebook: Notebook;
  readonly #actor: Actor;

  private constructor(notebook: Notebook, actor: Actor) {
    this.#notebook = notebook;
    this.#actor = actor;
  }

  for(actor: Actor): NotesStore {
    return new NotesStore(this.#notebook, actor);
  }

  static async open(path: string, now: () => Date = () => new Date()): Promise<NotesStore> {
    const stored = await readJsonFile(path);
    const workspace = stored === undefined ? emptyWorkspace(now().toISOString()) : parse(stored, path);
    return new NotesStore({ path, workspace, now }, operatorActor);
  }

  /** The tabs of others are left out. */
  workspace(): NotesWorkspace {
    const { workspace } = this.#notebook;
    const tabs = this.tabs();
    const ids = new Set(tabs.map(({ id }) => id));
    return structuredClone({
      ...workspace,
      activeTabId: ids.has(workspace.activeTabId) ? workspace.activeTabId : (tabs[0]?.id ?? ''),
      tabOrder: workspace.tabOrder.filter((id) => ids.has(id)),
      tabs: Object.fromEntries(Object.entries(workspace.tabs).filter(([id]) => ids.has(id))),
    });
  }

  /** Takes a whole notebook, as the console sends it; refused when it was made from an older state. */
  async replace(given: unknown): Promise<NotesWorkspace> {
    const next = parse(given, 'the notes');
    const { workspace } = this.#notebook;
    const hidden = Object.entries(workspace.tabs).filter(([, tab]) => !this.#sees(tab));
    const isTaken = hidden.some(([id]) => next.tabs[id] !== undefined);
    if (next.workspaceVersion !== workspace.workspaceVersion || isTaken)
      throw new StoreError('conflict', 'The notes have changed meanwhile: load them again.');
    const tabs = Object.entries(next.tabs).map(([id, tab]) => [
      id,
      this.#owned(this.#kept(this.#versioned(tab))),
    ]);
    await this.#save({
      ...next,
      tabOrder: [...next.tabOrder, ...hidden.map(([id]) => id)],
      tabs: Object.fromEntries([...tabs, ...hidden]),
    });
    return this.workspace();
  }

  /** All tabs that may be seen, in their order. */
  tabs(): NotesTab[] {
    const { tabOrder, tabs } = this.#notebook.workspace;
    const ordered = tabOrder.flatMap((id) => tabs[id] ?? []);
    const all = [...ordered, ...Object.values(tabs).filter((tab) => !tabOrder.includes(tab.id))];
    return all.filter((tab) => this.#sees(tab));
  }

  /** The content of a tab that is shared with the agent. */
  read(name: string): string {
    return this.readTab(name).content;
  }

  readTab(name: string): NotesTab {
    const tab = this.#find(name);
    if (!tab.permissions.agentRead)
      throw new StoreError('not_shared', `the tab '${tab.name}' is not shared with the agent.`);
    return tab;
  }

  /** Makes a tab that the agent may read and write, unless there is one of this name. */
  async ensure(given: string): Promise<void> {
    const name = given.replace(/\s+/g, ' ').trim();
    if (this.#named(name) !== undefined) return;
    const { workspace, now } = this.#notebook;
    if (name === '' || name.length > LONGEST_NAME)
      throw new StoreError('invalid', `a tab needs a name of at most ${LONGEST_NAME} characters.`);
    const tab = this.#owned(emptyTab(randomUUID(), name, now().toISOString()));
    const tabs = { ...workspace.tabs, [tab.id]: tab };
    await this.#save({ ...workspace, tabOrder: [...workspace.tabOrder, tab.id], tabs });
  }

  async write(
    name: string,
    content: string,
    mode: 'append' | 'replace',
    written: readonly Origin[] = [],
  ): Promise<NotesTab> {
    const tab = this.#findWritable(name);
    const next = mode === 'replace' ? content : appended(tab.content, content);
    if (next.length > MAX_TAB_LENGTH)
      throw new StoreError(
        'invalid',
        `the tab '${tab.name}' would be longer than ${MAX_TAB_LENGTH} characters.`,
      );
    const history = [...tab.metadata.history, versionOf(tab)].slice(-KEPT_VERSIONS);
    const before = mode === 'append' ? tab.metadata.origins : [];
    const origins = joinOrigins(before, written, this.#writer(tab));
    return await this.#put(marked(tab, origins), next, history);
  }

  /** Goes back by that many versions; the ones after it are gone. */
  async revert(name: string, steps: number): Promise<NotesTab> {
    const tab = this.#findWritable(name);
    const { history } = tab.metadata;
    const version = history.at(-steps);
    if (steps < 1 || version === undefined)
      throw new StoreError(
        'invalid',
        `the tab '${tab.name}' has ${history.length} earlier version(s), not ${steps}.`,
      );
    return await this.#put(marked(tab, version.origins), version.content, history.slice(0, -steps));
  }

  /** Changes by a person are stored as versions too, unless they changed the versions themselves. */
  #versioned(tab: NotesTab): NotesTab {
    const before = this.#notebook.workspace.tabs[tab.id];
    if (before === undefined || before.content === tab.content) return tab;
    const { history } = before.metadata;
    if (JSON.stringify(history) !== JSON.stringify(tab.metadata.history)) return tab;
    return this.#changed(tab, tab.content, [...history, versionOf(before)].slice(-KEPT_VERSIONS));
  }

  /** What a tab was drawn from stays, whatever a page sends, until the tab is empty. */
  #kept(tab: NotesTab): NotesTab {
    const before = this.#notebook.workspace.tabs[tab.id];
    if (before === undefined || tab.content === '') return marked(tab);
    const { origins } = before.metadata;
    return marked(tab, before.content === tab.content ? origins : joinOrigins(origins, this.#writer(before)));
  }

  /** Whoever writes into a tab that is not theirs is an origin of it for everybody else; the operator is none. */
  #writer({ metadata }: NotesTab): readonly Origin[] {
    const { owner } = this.#actor;
    return isOperator(owner) || owner === metadata.owner ? [] : [{ kind: NOTE, source: owner }];
  }

  /** What a tab holds beyond the trust of whoever reads it: their own words and the operator's are theirs. */
  originsOf({ metadata: { origins = [], owner = '' } }: NotesTab): readonly Origin[] {
    const { owner: own, viewer } = this.#actor;
    const isOwn = owner === '' || owner === own || viewer.aliases?.includes(owner) === true;
    return joinOrigins(
      origins.filter(({ kind, source }) => kind !== NOTE || source !== own),
      isOwn || isOperator(owner) ? [] : [{ kind: NOTE, source: owner }],
    );
  }

  /** A new tab is theirs who make it; nobody can give one away. */
  #owned(tab: NotesTab): NotesTab {
    const before = this.#notebook.workspace.tabs[tab.id];
    const owner = before === undefined ? this.#actor.owner : before.metadata.owner;
    const { owner: _given, ...metadata } = tab.metadata;
    return { ...tab, metadata: { ...metadata, ...(owner !== undefined && { owner }) } };
  }

  #sees({ metadata }: NotesTab): boolean {
    return maySee(this.#actor.viewer, metadata.owner);
  }

  #changed(tab: NotesTab, content: string, history: NotesTab['metadata']['history']): NotesTab {
    const counts = { wordCount: wordsIn(content), characterCount: content.length };
    const metadata = { ...tab.metadata, ...counts, history, updatedAt: this.#notebook.now().toISOString() };
    return { ...tab, content, metadata };
  }

  async #put(tab: NotesTab, content: string, history: NotesTab['metadata']['history']): Promise<NotesTab> {
    const next = this.#changed(tab, content, history);
    const { workspace } = this.#notebook;
    await this.#save({ ...workspace, tabs: { ...workspace.tabs, [tab.id]: next } });
    return next;
  }

  async #save(workspace: NotesWorkspace): Promise<void> {
    const { path, workspace: before } = this.#notebook;
    const next = { ...workspace, workspaceVersion: before.workspaceVersion + 1 };
    this.#checkRoom(next);
    this.#actor.keep?.(Math.max(0, sizeOf(next) - sizeOf(before)));
    this.#notebook.workspace = next;
    await writeFileAtomic(path, JSON.stringify(next, null, 2));
  }

  /** Whoever has too much may still make it less. */
  #checkRoom(next: NotesWorkspace): void {
    const { owner } = this.#actor;
    const [before, after] = [tabsOf(this.#notebook.workspace, owner), tabsOf(next, owner)];
    if (after.length > Math.max(MOST_TABS, before.length))
      throw new StoreError('invalid', `you have ${MOST_TABS} tabs already; remove some on the page Notes.`);
    if (isOperator(owner)) return;
    const bytes = bytesIn(after);
    if (bytes > MOST_BYTES && bytes > bytesIn(before))
      throw new StoreError(
        'full',
        `your notes would take ${(bytes / 1e6).toFixed(1)} MB with their earlier versions, and may take ${MOST_BYTES / 1e6} MB; remove tabs on the page Notes.`,
      );
  }

  bytesOf(owner: string): number {
    return bytesIn(tabsOf(this.#notebook.workspace, owner));
  }

  #named(name: string): NotesTab | undefined {
    const wanted = name.trim().toLowerCase();
    const named = this.tabs().filter((each) => each.id === name || each.name.toLowerCase() === wanted);
    return named.find(({ metadata }) => metadata.owner === this.#actor.owner) ?? named[0];
  }

  #find(name: string): NotesTab {
    const tab = this.#named(name);
    if (tab === undefined) throw new StoreError('not_found', `there is no tab '${name}'.`);
    return tab;
  }

  #findWritable(name: string): NotesTab {
    const tab = this.#find(name);
    if (!tab.permissions.agentWrite)
      throw new StoreError('not_shared', `the tab '${tab.name}' is not open for writing by the agent.`);
    return tab;
  }
}

function isOperator(owner: string): boolean {
  return /^operator(?::|$)/.test(owner);
}

/** The tabs of an owner, or of those that share a quota. */
function tabsOf({ tabs }: NotesWorkspace, key: string): NotesTab[] {
  const [first, last] = ownersOf(key);
  return Object.values(tabs).filter(
    ({ metadata: { owner = 'anonymous' } }) => owner >= first && owner <= last,
  );
}

function bytesIn(tabs: readonly NotesTab[]): number {
  return tabs.reduce((sum, tab) => sum + sizeOf(tab), 0);
}

function sizeOf(stored: object): number {
  return Buffer.byteLength(JSON.stringify(stored));
}

function versionOf({ content, metadata: { updatedAt: at, origins } }: NotesTab) {
  return { content, at, ...(origins && { origins }) };
}

function marked(tab: NotesTab, origins: readonly Origin[] = []): NotesTab {
  const { origins: _before, ...metadata } = tab.metadata;
  return { ...tab, metadata: { ...metadata, ...(origins.length > 0 && { origins: [...origins] }) } };
}

function parse(given: unknown, where: string): NotesWorkspace {
  const parsed = workspaceSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new StoreError('invalid', `The notes in ${where} are not readable: ${z.prettifyError(parsed.error)}`);
}

function appended(before: string, more: string): string {
  return before === '' || before.endsWith('\n') ? `${before}${more}` : `${before}\n${more}`;
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

export type NotesTab = z.output<typeof tabSchema>;

export type NotesWorkspace = z.output<typeof workspaceSchema>;

/** What a new notebook holds: one tab that the agent may read and write. */
function emptyWorkspace(now: string): NotesWorkspace {
  const tab = emptyTab('notes', 'Notes', now);
  return {
    version: 1,
    workspaceVersion: 0,
    activeTabId: tab.id,
    tabOrder: [tab.id],
    tabs: { [tab.id]: tab },
  };
}

function emptyTab(id: string, name: string, now: string): NotesTab {
  return {
    id,
    name,
    content: '',
    permissions: { agentRead: true, agentWrite: true },
    metadata: { createdAt: now, updatedAt: now, wordCount: 0, characterCount: 0, history: [] },
  };
}
