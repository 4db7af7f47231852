import {
  Button,
  ConfirmDialog,
  Dialog,
  EmptyState,
  ErrorState,
  Skeleton,
  Tabs,
  TextField,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { Plus, StickyNote } from 'lucide-react';
import { useState } from 'react';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../app/PageFrame.tsx';
import { NoteEditor } from './NoteEditor.tsx';
import { type NoteTab, newTab, tabsOf, type Workspace, withoutTab, withTab } from './wire.ts';

/** The notebook that you and the agent share, as far as each tab allows. */
export default function NotesPage() {
  const api = useApi();
  const attempt = useAttempt();
  const { body, error, reload } = useResource<Workspace>('/api/notes/workspace');
  const [open, setOpen] = useState<string>();
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<NoteTab | null>(null);
  useLive(['notes'], reload);
  const save = async (workspace: Workspace, title: string) => {
    const saved = await attempt(
      () => api.request('/api/notes/workspace', { method: 'PUT', body: workspace }),
      { title },
    );
    reload();
    return saved;
  };
  const tabs = body === undefined ? [] : tabsOf(body);
  const current = tabs.find(({ id }) => id === open) ?? tabs[0];
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
      {error && <ErrorState what="The notes could not be loaded." why={error.message} todo={error.advice} />}
      {body === undefined && !error && <Skeleton rows={6} />}
      {body && current && (
        <Tabs
          label="Tabs of the notebook"
          value={current.id}
          onChange={setOpen}
          tabs={tabs.map((tab) => ({
            id: tab.id,
            label: tab.name,
            content: (
              <NoteEditor
                key={tab.id}
                tab={tab}
                onSave={(changed) => save(withTab(body, changed), 'Saved.')}
                onDelete={() => setDeleting(tab)}
              />
            ),
          }))}
        />
      )}
      {body && !current && (
        <EmptyState
          icon={<StickyNote aria-hidden />}
          title="No tabs yet"
          next="Make one with the button above."
        />
      )}
      {adding && body && (
        <NewTab
          onClose={() => setAdding(false)}
          onAdd={async (name) => {
            const tab = newTab(body, name);
            if (await save(withTab(body, tab), 'Tab made.')) setOpen(tab.id);
            setAdding(false);
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

function NewTab({ onClose, onAdd }: { onClose(): void; onAdd(name: string): Promise<void> }) {
  const [name, setName] = useState('');
  return (
    <Dialog
      open
      onClose={onClose}
      title="New tab"
      detail="The agent may read it; let it write when you want to."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '') void onAdd(name.trim());
        }}
      >
        <TextField label="Name" autoFocus value={name} onChange={(event) => setName(event.target.value)} />
        <div className="flex justify-end">
          <Button type="submit" variant="primary" disabled={name.trim() === ''}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
