import {
  Button,
  ConfirmDialog,
  EmptyState,
  FormDialog,
  Loaded,
  Panel,
  plural,
  RelativeTime,
  SwitchField,
  Tabs,
  TextAreaField,
  TextField,
  useHotkeys,
  useResource,
  useSend,
} from '@trunkline/ui';
import { History, Plus, Save, StickyNote, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { NotesTab, NotesWorkspace } from '../../../stores/notes/notes-store.ts';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

const NEW_TAB = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', title: 'Name', pattern: '\\S' } },
};

/** The notebook that you and the agent share, as far as each tab allows. */
export default function NotesPage() {
  const send = useSend();
  const notes = useResource<NotesWorkspace>('/api/notes/workspace');
  const { body, reload } = notes;
  const [open, setOpen] = useState<string>();
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<NotesTab | null>(null);
  useLive(['notes'], reload);
  const save = async (workspace: NotesWorkspace, title: string) => {
    const saved = await send('/api/notes/workspace', { method: 'PUT', body: workspace }, { title });
    reload();
    return saved;
  };
  return (
    <PageFrame
      title="Notes"
      intro="A notebook of tabs. Each says whether the agent may read it or write in it."
      actions={
        <Button icon={<Plus aria-hidden />} onClick={() => setAdding(true)} disabled={body === undefined}>
          New tab
        </Button>
      }
    >
      <Loaded resource={notes} failed="The notes could not be loaded.">
        {(workspace) => (
          <NoteTabs
            tabs={tabsOf(workspace)}
            open={open}
            onOpen={setOpen}
            onSave={(changed) => save(withTab(workspace, changed), 'Saved.')}
            onDelete={setDeleting}
          />
        )}
      </Loaded>
      {adding && body && (
        <FormDialog
          title="New tab"
          detail="The agent may read it; let it write when you want to."
          schema={NEW_TAB}
          action="Make it"
          onClose={() => setAdding(false)}
          onSave={async ({ name }) => {
            const tab = newTab(body, String(name).trim());
            const saved = await save(withTab(body, tab), 'Tab made.');
            if (saved) setOpen(tab.id);
            return saved;
          }}
        />
      )}
      <ConfirmDialog
        open={deleting !== null}
        title={`Delete the tab ${deleting?.name ?? ''}?`}
        detail="Its text and its earlier versions are lost."
        action="Delete"
        onCancel={() => setDeleting(null)}
        onConfirm={() => {
          if (deleting && body) void save(withoutTab(body, deleting.id), 'Tab deleted.');
          setDeleting(null);
        }}
      />
    </PageFrame>
  );
}

interface NoteTabsProps {
  tabs: readonly NotesTab[];
  /** The id of the tab that was opened last. */
  open: string | undefined;
  onOpen(id: string): void;
  onSave(tab: NotesTab): Promise<boolean>;
  onDelete(tab: NotesTab): void;
}

function NoteTabs({ tabs, open, onOpen, onSave, onDelete }: NoteTabsProps) {
  const current = tabs.find(({ id }) => id === open) ?? tabs[0];
  if (current === undefined)
    return (
      <EmptyState
        icon={<StickyNote aria-hidden />}
        title="No tabs yet"
        next="Make one with the button above."
      />
    );
  return (
    <Tabs
      label="Tabs of the notebook"
      value={current.id}
      onChange={onOpen}
      tabs={tabs.map((tab) => ({
        id: tab.id,
        label: tab.name,
        content: <NoteEditor key={tab.id} tab={tab} onSave={onSave} onDelete={() => onDelete(tab)} />,
      }))}
    />
  );
}

interface NoteEditorProps {
  tab: NotesTab;
  onSave(tab: NotesTab): Promise<boolean>;
  onDelete(): void;
}

/** One tab: its text, who may do what with it, and its earlier versions. */
function NoteEditor({ tab, onSave, onDelete }: NoteEditorProps) {
  const [text, setText] = useState(tab.content);
  const [name, setName] = useState(tab.name);
  const changed = text !== tab.content || name.trim() !== tab.name;
  // What the agent writes shows at once, unless something is typed here that is not saved.
  const [seen, setSeen] = useState(tab.content);
  useEffect(() => {
    if (tab.content === seen) return;
    setSeen(tab.content);
    setText((now) => (now === seen ? tab.content : now));
  }, [tab.content, seen]);
  const save = () => void (changed && onSave({ ...tab, content: text, name: name.trim() || tab.name }));
  const allow = (change: Partial<NotesTab['permissions']>) =>
    void onSave({ ...tab, permissions: { ...tab.permissions, ...change } });
  useHotkeys([{ keys: 'mod+s', label: 'Save the note', run: save, whileTyping: true }]);
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[3fr_1.4fr]">
      <div className="flex min-w-0 flex-col gap-3">
        <TextField label="Name of the tab" value={name} onChange={(event) => setName(event.target.value)} />
        <TextAreaField
          label="Text"
          rows={14}
          value={text}
          className="[&_textarea]:max-h-[60dvh] [&_textarea]:min-h-[40dvh]"
          onChange={(event) => setText(event.target.value)}
        />
        <div className="flex flex-wrap items-center gap-3">
          <Button variant="primary" icon={<Save aria-hidden />} disabled={!changed} onClick={save}>
            Save
          </Button>
          <span className="flex-1 text-12 text-muted">
            {changed ? 'Not saved yet' : `${plural(tab.metadata.wordCount, 'word')}, saved `}
            {!changed && <RelativeTime at={tab.metadata.updatedAt} />}
          </span>
          <Button variant="quiet" icon={<Trash2 aria-hidden />} onClick={onDelete}>
            Delete the tab
          </Button>
        </div>
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <Panel title="What the agent may do">
          <div className="flex flex-col gap-3">
            <SwitchField
              label="Read it"
              checked={tab.permissions.agentRead}
              onChange={(agentRead) => allow({ agentRead })}
            />
            <SwitchField
              label="Write in it"
              checked={tab.permissions.agentWrite}
              onChange={(agentWrite) => allow({ agentWrite })}
            />
          </div>
        </Panel>
        <Versions versions={tab.metadata.history} onRestore={(content) => void onSave({ ...tab, content })} />
      </div>
    </div>
  );
}

interface VersionsProps {
  versions: NotesTab['metadata']['history'];
  onRestore(content: string): void;
}

function Versions({ versions, onRestore }: VersionsProps) {
  return (
    <Panel title="Earlier versions" detail="The last ten are kept." flush>
      {versions.length === 0 && (
        <EmptyState
          icon={<History aria-hidden />}
          title="None yet"
          next="Each change keeps what was there before."
        />
      )}
      <ul>
        {[...versions].reverse().map((version, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: two versions may be alike
            key={`${version.at} ${index}`}
            className="flex items-center gap-3 border-line border-b px-4 py-2 last:border-b-0"
          >
            <div className="min-w-0 flex-1">
              <p className="truncate">{version.content || '(empty)'}</p>
              <p className="text-12 text-muted">
                <RelativeTime at={version.at} />
              </p>
            </div>
            <Button size="small" onClick={() => onRestore(version.content)}>
              Restore
            </Button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** All tabs in their order. */
function tabsOf({ tabOrder, tabs }: NotesWorkspace): NotesTab[] {
  const ordered = tabOrder.flatMap((id) => tabs[id] ?? []);
  return [...ordered, ...Object.values(tabs).filter(({ id }) => !tabOrder.includes(id))];
}

function withTab(workspace: NotesWorkspace, tab: NotesTab): NotesWorkspace {
  const tabOrder = workspace.tabOrder.includes(tab.id) ? workspace.tabOrder : [...workspace.tabOrder, tab.id];
  return { ...workspace, tabOrder, tabs: { ...workspace.tabs, [tab.id]: tab } };
}

function withoutTab(workspace: NotesWorkspace, id: string): NotesWorkspace {
  const { [id]: _, ...tabs } = workspace.tabs;
  const tabOrder = workspace.tabOrder.filter((known) => known !== id);
  return { ...workspace, tabs, tabOrder, activeTabId: tabOrder[0] ?? '' };
}

/** A tab with nothing in it, under an id that no other has. */
function newTab({ tabs }: NotesWorkspace, name: string): NotesTab {
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
