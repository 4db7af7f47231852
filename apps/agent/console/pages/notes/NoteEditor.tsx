import {
  Button,
  EmptyState,
  Panel,
  plural,
  RelativeTime,
  SwitchField,
  TextAreaField,
  TextField,
  useHotkeys,
} from '@trunkline/ui';
import { History, Save, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { NoteTab } from './wire.ts';

interface NoteEditorProps {
  tab: NoteTab;
  onSave(tab: NoteTab): Promise<boolean>;
  onDelete(): void;
}

/** One tab: its text, who may do what with it, and its earlier versions. */
export function NoteEditor({ tab, onSave, onDelete }: NoteEditorProps) {
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
  const allow = (change: Partial<NoteTab['permissions']>) =>
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
  versions: NoteTab['metadata']['history'];
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
