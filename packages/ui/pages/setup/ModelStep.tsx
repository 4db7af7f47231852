import type { SavedModel, SetupRole, SetupView } from '@trunkline/std';
import { ChevronRight, FileBox, KeyRound, Network, Server } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { ConfirmDialog } from '../../src/components/Dialog.tsx';
import { TextField } from '../../src/components/Field.tsx';
import { useAttempt } from '../../src/hooks/useResource.ts';
import { FromAddress, FromFile, FromMachine, FromProvider } from './modelWays.tsx';
import { Choice, Note, Trouble } from './parts.tsx';
import { StepFrame, useSetup, useWork } from './setup.tsx';

const WAYS = [
  { id: 'machine', title: 'On this machine', detail: 'Ollama, LM Studio, llama.cpp or vLLM', Icon: Server },
  { id: 'provider', title: 'A provider', detail: 'With a key of yours', Icon: KeyRound },
  { id: 'address', title: 'Another address', detail: 'Any OpenAI-compatible API', Icon: Network },
  { id: 'file', title: 'A model file', detail: 'A .gguf file, without a server', Icon: FileBox },
] as const;

type Way = (typeof WAYS)[number]['id'];

/** The model that answers, for all four services. */
export default function ModelStep() {
  const { view, show, mark } = useSetup();
  const api = useApi();
  const [way, setWay] = useState<Way>();
  const saving = useWork<SetupView>();
  const save = (saved: SavedModel) =>
    saving.run(async () => {
      const after = await api.request<SetupView>('/operator/setup/model', { method: 'PUT', body: saved });
      show(after);
      if (after.steps.model === 'open') await mark('done');
      setWay(undefined);
      return after;
    });
  const ways = { view, save, isSaving: saving.busy };
  return (
    <StepFrame
      title="Choose a model"
      intro="It answers in voice, agent, research and switchboard. Until you choose one, a small demo model answers from fixed rules."
    >
      <Current view={view} isSaving={saving.busy} onDemo={() => save({ role: 'chat', model: null })} />
      {view.overrides.map(({ setting, words }) => (
        <Note key={setting} state="waiting" title={`${setting} wins`}>
          {words}
        </Note>
      ))}
      <Choice label="Where the model is" choices={WAYS} value={way} onChange={setWay} />
      <Trouble work={saving} what="The model was not saved." />
      {way === 'machine' && <FromMachine {...ways} />}
      {way === 'provider' && <FromProvider {...ways} />}
      {way === 'address' && <FromAddress {...ways} />}
      {way === 'file' && <FromFile {...ways} />}
      <ModelRoles view={view} onChange={show} />
    </StepFrame>
  );
}

interface CurrentProps {
  view: SetupView;
  isSaving: boolean;
  onDemo(): void;
}

/** What is set, and whether it can be used. */
function Current({ view: { roles, file }, isSaving, onDemo }: CurrentProps) {
  const { model } = useSetup();
  const [asks, setAsks] = useState(false);
  const name = roles.chat?.model ?? (file && 'A model file');
  if (name === undefined) return null;
  const place = roles.chat?.url ?? file;
  const isIt = file !== undefined || model?.name === roles.chat?.model;
  const problem = isIt ? model?.problem : undefined;
  return (
    <>
      <Note
        state={problem === undefined ? (isIt ? 'live' : 'waiting') : 'failed'}
        title={`${name} ${problem === undefined ? (isIt ? 'answers' : 'is set') : 'cannot be used'}`}
      >
        {place && <p className="break-all text-muted">{place}</p>}
        {problem}
      </Note>
      {roles.chat && (
        <div>
          <Button size="small" busy={isSaving} onClick={() => setAsks(true)}>
            Use the demo model
          </Button>
        </div>
      )}
      <ConfirmDialog
        open={asks}
        title={`Go back from ${name} to the demo model?`}
        detail="All services answer from fixed rules then. The address and its key are removed from this machine."
        action="Use the demo model"
        onConfirm={() => {
          setAsks(false);
          onDemo();
        }}
        onCancel={() => setAsks(false)}
      />
    </>
  );
}

interface OtherRole {
  role: Exclude<SetupRole, 'chat'>;
  title: string;
  purpose: string;
  /** What does it while no model is set. */
  without: string;
}

const ROLES: readonly OtherRole[] = [
  {
    role: 'helper',
    title: 'Helper',
    purpose: 'Short side work: titles, summaries, sorting. A small model is enough.',
    without: 'That of the chat',
  },
  {
    role: 'judge',
    title: 'Judge',
    purpose: 'Checks claims against their sources.',
    without: 'That of the chat',
  },
  {
    role: 'embeddings',
    title: 'Embeddings',
    purpose:
      'Finds memories of the agent and documents of the switchboard by meaning. With another one, memories get new vectors.',
    without: 'The one that comes with Trunkline',
  },
  {
    role: 'vision',
    title: 'Vision',
    purpose: 'Looks at images, where the chat model cannot.',
    without: 'None: such turns fail',
  },
];

interface ModelRolesProps {
  view: SetupView;
  onChange(view: SetupView): void;
}

/** Models for single roles. */
function ModelRoles({ view, onChange }: ModelRolesProps) {
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

function RoleRow({ role, title, purpose, without, view, onChange }: RoleRowProps) {
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
          placeholder={without}
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
              void save({ role, model: null }, `Removed the model for ${title.toLowerCase()}.`);
            }}
          >
            Remove
          </Button>
        )}
      </form>
    </li>
  );
}
