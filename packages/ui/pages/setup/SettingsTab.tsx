import type { SettingsView, SettingView } from '@trunkline/std';
import { useId, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { EmptyState } from '../../src/components/EmptyState.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { useAttempt, useResource } from '../../src/hooks/useResource.ts';
import { plural } from '../../src/lib/figures.ts';
import { SERVICES, type ServiceName } from '../../src/shell/services.tsx';
import { Note } from './parts.tsx';

const PATH = '/operator/settings';

/** Every option of this service: what it is, where its value comes from, and a way to change it. */
export default function SettingsTab() {
  const resource = useResource<SettingsView>(PATH);
  return (
    <section aria-labelledby="settings-title" className="flex min-w-0 flex-col gap-6">
      <Loaded resource={resource} failed="The settings could not be loaded.">
        {(view) => <Settings view={view} onChange={resource.reload} />}
      </Loaded>
    </section>
  );
}

function Settings({ view: loaded, onChange }: { view: SettingsView; onChange(): void }) {
  const [changed, setChanged] = useState<SettingsView>();
  const [query, setQuery] = useState('');
  const [onlySet, setOnlySet] = useState('all');
  const view = changed ?? loaded;
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = view.settings.filter(
    (setting) => matches(setting, words) && (onlySet === 'all' || setting.source !== 'default'),
  );
  const title = SERVICES[view.service as ServiceName]?.title ?? view.service;
  return (
    <>
      <header>
        <h2 id="settings-title" className="text-20">
          All settings of {title}
        </h2>
        <p className="text-14 break-words text-muted">
          Changes are written to <code className="text-12 break-all">{view.file}</code> and count at once; the
          service restarts itself. Flags, the environment and .env win over this file.
        </p>
      </header>
      {view.problem !== null && (
        <Note state="failed" title="The newest settings do not count">
          {view.problem}
        </Note>
      )}
      <div className="flex flex-wrap items-end gap-3">
        <TextField
          label="Search"
          type="search"
          placeholder="Name or words"
          className="min-w-0 flex-1 basis-64"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <SelectField
          label="Show"
          value={onlySet}
          options={[
            { value: 'all', label: 'All settings' },
            { value: 'set', label: 'Only those that are set' },
          ]}
          onChange={(event) => setOnlySet(event.target.value)}
        />
      </div>
      <p role="status" className="text-12 text-muted">
        {plural(found.length, 'setting')}
      </p>
      {found.length === 0 && (
        <EmptyState title="No setting matches" next="Use other words, or show all settings." />
      )}
      {[...Map.groupBy(found, ({ heading }) => heading ?? 'General')].map(([heading, settings]) => (
        <Panel key={heading} title={heading} flush>
          <ul>
            {settings.map((setting) => (
              <Setting
                key={setting.variable}
                setting={setting}
                onSaved={(after) => {
                  setChanged(after);
                  onChange();
                }}
              />
            ))}
          </ul>
        </Panel>
      ))}
    </>
  );
}

function matches({ variable, doc, heading }: SettingView, words: readonly string[]): boolean {
  const text = `${variable} ${doc} ${heading ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

interface SettingProps {
  setting: SettingView;
  onSaved(view: SettingsView): void;
}

function Setting({ setting, onSaved }: SettingProps) {
  const { variable, doc, source, fixed } = setting;
  const [editing, setEditing] = useState(false);
  const id = useId();
  return (
    <li className="border-line border-b px-4 py-3 last:border-b-0">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-72">
          <p id={id} className="font-mono text-14 break-all">
            {variable}
          </p>
          <p className="text-12 text-muted">{doc}</p>
          <p className="mt-1 flex flex-wrap items-center gap-2 text-12">
            <Value setting={setting} />
            {source !== 'default' && <Badge tone="accent">{source}</Badge>}
          </p>
          {fixed !== null && <p className="mt-1 text-12 text-muted">{fixed}</p>}
        </div>
        {fixed === null && !editing && (
          <Button size="small" aria-label={`Change ${variable}`} onClick={() => setEditing(true)}>
            Change
          </Button>
        )}
      </div>
      {editing && (
        <Editor
          setting={setting}
          onClose={() => setEditing(false)}
          onSaved={(view) => {
            setEditing(false);
            onSaved(view);
          }}
        />
      )}
    </li>
  );
}

function Value({ setting: { secret, value, source, defaultDoc } }: { setting: SettingView }) {
  if (secret) return <span className="text-muted">{value === null ? 'Not set' : 'Set; never shown'}</span>;
  if (value === null) return <span className="text-muted">{defaultDoc ?? 'Not set'}</span>;
  return (
    <>
      <code className="break-all">{value}</code>
      {source === 'default' && <span className="text-muted">default</span>}
    </>
  );
}

interface EditorProps extends SettingProps {
  onClose(): void;
}

function Editor({ setting, onClose, onSaved }: EditorProps) {
  const { variable, secret, choices, isToggle, expected, source } = setting;
  const api = useApi();
  const attempt = useAttempt();
  const [value, setValue] = useState(secret ? '' : (setting.value ?? ''));
  const [busy, setBusy] = useState(false);
  const save = async (next: string | null) => {
    setBusy(true);
    await attempt(
      async () => {
        const body = { [variable]: next };
        onSaved(await api.request<SettingsView>(PATH, { method: 'PATCH', body }));
      },
      { title: next === null ? `${variable} is back to its default.` : `Saved ${variable}.` },
    );
    setBusy(false);
  };
  const options = choices ?? (isToggle ? ['1', '0'] : undefined);
  const labels: Record<string, string> = isToggle ? { '1': 'On', '0': 'Off' } : {};
  return (
    <form
      className="mt-3 flex flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (value.trim() !== '') void save(value);
      }}
    >
      {options ? (
        <SelectField
          label="New value"
          autoFocus
          className="min-w-0 flex-1 basis-48"
          value={options.includes(value) ? value : ''}
          options={[
            ...(options.includes(value) ? [] : [{ value: '', label: 'Choose a value' }]),
            ...options.map((one) => ({ value: one, label: labels[one] ?? one })),
          ]}
          onChange={(event) => setValue(event.target.value)}
        />
      ) : (
        <TextField
          label="New value"
          mono
          autoFocus
          type={secret ? 'password' : 'text'}
          autoComplete="off"
          hint={`Expected: ${expected}.`}
          className="min-w-0 flex-1 basis-48"
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      )}
      <Button type="submit" variant="primary" busy={busy} disabled={value.trim() === ''}>
        Save
      </Button>
      {source === 'settings.yaml' && (
        <Button busy={busy} onClick={() => void save(null)}>
          Back to default
        </Button>
      )}
      <Button variant="quiet" onClick={onClose}>
        Cancel
      </Button>
    </form>
  );
}
