import type { SavedModel, SetupRole, SetupView } from '@trunkline/std';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { TextField } from '../../src/components/Field.tsx';
import { useAttempt } from '../../src/hooks/useResource.ts';

const ROLES: readonly { role: Exclude<SetupRole, 'chat'>; title: string; purpose: string }[] = [
  {
    role: 'helper',
    title: 'Helper',
    purpose: 'Short side work: titles, summaries, sorting. A small model is enough.',
  },
  { role: 'judge', title: 'Judge', purpose: 'Checks claims against their sources.' },
  { role: 'embeddings', title: 'Embeddings', purpose: 'Finds notes and passages by meaning.' },
  { role: 'vision', title: 'Vision', purpose: 'Looks at images, where the chat model cannot.' },
];

interface ModelRolesProps {
  view: SetupView;
  onChange(view: SetupView): void;
}

/** Models for single roles; without one the chat model does it. */
export function ModelRoles({ view, onChange }: ModelRolesProps) {
  return (
    <details className="group rounded-corner border border-line bg-raised">
      <summary className="flex h-11 cursor-pointer list-none items-center gap-2 px-4 text-14 text-muted transition-colors hover:text-ink focus-visible:-outline-offset-2">
        <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
        More: other models for single roles
      </summary>
      <ul className="border-line border-t">
        {ROLES.map((entry) => (
          <RoleRow key={entry.role} {...entry} view={view} onChange={onChange} />
        ))}
      </ul>
    </details>
  );
}

type RoleRowProps = ModelRolesProps & (typeof ROLES)[number];

function RoleRow({ role, title, purpose, view, onChange }: RoleRowProps) {
  const api = useApi();
  const attempt = useAttempt();
  const set = view.roles[role];
  const [model, setModel] = useState(set?.model ?? '');
  const [url, setUrl] = useState(set?.url ?? '');
  const [busy, setBusy] = useState(false);
  const save = async (body: SavedModel, words: string) => {
    setBusy(true);
    await attempt(
      async () => onChange(await api.request<SetupView>('/operator/setup/model', { method: 'PUT', body })),
      { title: words },
    );
    setBusy(false);
  };
  const isChanged = model.trim() !== '' && (model.trim() !== set?.model || url.trim() !== (set.url ?? ''));
  return (
    <li className="border-line border-b px-4 py-3 last:border-b-0">
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          const place = url.trim() === '' ? {} : { url: url.trim() };
          void save({ role, model: model.trim(), ...place }, `Saved the model for ${title.toLowerCase()}.`);
        }}
      >
        <div className="min-w-0 flex-1 basis-full">
          <p className="font-medium text-14">{title}</p>
          <p className="text-12 text-muted">{purpose}</p>
        </div>
        <TextField
          label={`Model for ${title.toLowerCase()}`}
          mono
          value={model}
          placeholder="That of the chat"
          className="min-w-0 flex-1 basis-48"
          onChange={(event) => setModel(event.target.value)}
        />
        <TextField
          label={`Address for ${title.toLowerCase()}`}
          mono
          value={url}
          placeholder="That of the chat"
          className="min-w-0 flex-1 basis-48"
          onChange={(event) => setUrl(event.target.value)}
        />
        <Button type="submit" busy={busy} disabled={!isChanged}>
          Save
        </Button>
        {set && (
          <Button
            variant="quiet"
            busy={busy}
            aria-label={`Remove the model for ${title.toLowerCase()}`}
            onClick={() => {
              setModel('');
              setUrl('');
              void save({ role, model: null }, `The chat model does ${title.toLowerCase()} too.`);
            }}
          >
            Remove
          </Button>
        )}
      </form>
    </li>
  );
}
