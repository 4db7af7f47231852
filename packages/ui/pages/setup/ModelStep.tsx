import type { SavedModel, SetupView } from '@trunkline/std';
import { FileBox, KeyRound, Network, Server } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { ConfirmDialog } from '../../src/components/Dialog.tsx';
import { ModelRoles } from './ModelRoles.tsx';
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
