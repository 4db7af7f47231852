import { Archive, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import {
  ApiError,
  Button,
  ConfirmDialog,
  Dialog,
  MarkdownView,
  Menu,
  Panel,
  Sheet,
  Tabs,
  TextField,
  ThemeToggle,
  useApi,
  useEventStream,
  useToast,
} from '../src/index.ts';

/** Parts that answer to the keyboard and the mouse. */
export function Interactions({ onInspect }: { onInspect(title: string): void }) {
  return (
    <section id="interactions" aria-label="Interactions" className="grid gap-4 lg:grid-cols-2">
      <Overlays onInspect={onInspect} />
      <TabsSpecimen />
      <ServiceCalls />
      <Streaming />
    </section>
  );
}

type Overlay = 'dialog' | 'confirm' | 'sheet';

function Overlays({ onInspect }: { onInspect(title: string): void }) {
  const [open, setOpen] = useState<Overlay | null>(null);
  const [said, setSaid] = useState('Nothing yet');
  const toast = useToast();
  const close = () => setOpen(null);
  const remove = () => {
    setSaid('Note deleted');
    toast({ title: 'Note deleted.', detail: 'shopping.md', undo: () => setSaid('Note restored') });
  };
  return (
    <Panel title="What opens" actions={<ThemeToggle side="top" />}>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setOpen('dialog')}>Open the dialog</Button>
        <Button onClick={() => setOpen('confirm')}>Open the question</Button>
        <Button onClick={() => setOpen('sheet')}>Open the sheet</Button>
        <Button onClick={() => onInspect('morning-brief')}>Inspect</Button>
        <Button onClick={remove}>Delete a note</Button>
        <Menu
          trigger={<Button>Open the menu</Button>}
          groups={[
            [
              {
                id: 'rename',
                label: 'Rename',
                icon: <Pencil aria-hidden />,
                keys: 'r',
                run: () => setSaid('Renamed'),
              },
              {
                id: 'archive',
                label: 'Archive',
                icon: <Archive aria-hidden />,
                run: () => setSaid('Archived'),
              },
            ],
            [{ id: 'delete', label: 'Delete', icon: <Trash2 aria-hidden />, danger: true, run: remove }],
          ]}
        />
      </div>
      <output className="mt-4 block text-muted">{said}</output>
      <Dialog
        open={open === 'dialog'}
        onClose={close}
        title="Rename the schedule"
        detail="Its history stays."
        actions={
          <>
            <Button onClick={close}>Cancel</Button>
            <Button variant="primary" onClick={close}>
              Rename
            </Button>
          </>
        }
      >
        <TextField label="New name" defaultValue="morning-brief" />
      </Dialog>
      <ConfirmDialog
        open={open === 'confirm'}
        title="Delete the schedule morning-brief?"
        detail="Its 214 past runs go with it. This cannot be undone."
        action="Delete"
        onConfirm={() => setSaid('Schedule deleted')}
        onCancel={close}
      />
      <Sheet open={open === 'sheet'} onClose={close} title="Details">
        <p>A sheet holds what has no room beside the page.</p>
      </Sheet>
    </Panel>
  );
}

function TabsSpecimen() {
  const [tab, setTab] = useState('sources');
  return (
    <Panel title="Tabs">
      <Tabs
        label="The report"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'sources', label: 'Sources', content: <p>Eight sources, six of them read.</p> },
          { id: 'evidence', label: 'Evidence', content: <p>Each sentence with its passage.</p> },
          { id: 'activity', label: 'Activity', content: <p>What was done, step by step.</p> },
        ]}
      />
    </Panel>
  );
}

function ServiceCalls() {
  const api = useApi();
  const [answer, setAnswer] = useState('');
  const [events, setEvents] = useState<string[]>([]);
  const [path, setPath] = useState<string | null>(null);
  const { state } = useEventStream(path, (event) =>
    setEvents((before) => [...before, `${event.id} ${event.data}`]),
  );
  const call = async () => {
    try {
      setAnswer((await api.request<{ secret: string }>('/api/secret')).secret);
    } catch (error) {
      setAnswer(error instanceof ApiError ? `${error.message} ${error.advice}` : String(error));
    }
  };
  return (
    <Panel title="Calls to a service">
      <div className="flex flex-wrap gap-2">
        <Button onClick={call}>Call with a key</Button>
        <Button onClick={() => setPath('/api/events')}>Follow the events</Button>
      </div>
      <output id="answer" className="mt-4 block text-muted">
        {answer || 'Not called'}
      </output>
      <output id="events" className="block text-muted">
        {state.name}: {events.join(', ')}
      </output>
    </Panel>
  );
}

const STREAMED = 'A reply **comes in** word by word, with a [link](https://example.com) at the end.';

function Streaming() {
  const [length, setLength] = useState(14);
  return (
    <Panel title="Streaming text">
      <MarkdownView text={STREAMED.slice(0, length)} streaming={length < STREAMED.length} />
      <Button
        size="small"
        className="mt-4"
        onClick={() => setLength((before) => Math.min(STREAMED.length, before + 8))}
      >
        More
      </Button>
    </Panel>
  );
}
