import type { SavedModel, SetupView } from '@trunkline/std';
import { FileBox, KeyRound, Server } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { ModelRoles } from './ModelRoles.tsx';
import { FromFile, FromMachine, FromProvider } from './modelWays.tsx';
import { Choice, Note, Trouble } from './parts.tsx';
import { StepFrame, useSetup, useWork } from './setup.tsx';

const WAYS = [
  { id: 'machine', title: 'On this machine', detail: 'Ollama, LM Studio, llama.cpp or vLLM', Icon: Server },
  { id: 'provider', title: 'A provider', detail: 'With a key of yours', Icon: KeyRound },
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
      if (after.steps.model !== 'done') await mark('done');
      setWay(undefined);
      return after;
    });
  const ways = { view, save, isSaving: saving.busy };
  return (
    <StepFrame
      title="Choose a model"
      intro="It answers in voice, agent, research and switchboard. Until you choose one, a small demo model answers from fixed rules."
    >
      <Current view={view} />
      {view.overrides.map(({ setting, words }) => (
        <Note key={setting} state="waiting" title={`${setting} wins`}>
          {words}
        </Note>
      ))}
      <Choice label="Where the model is" choices={WAYS} value={way} onChange={setWay} />
      <Trouble work={saving} what="The model was not saved." />
      {way === 'machine' && <FromMachine {...ways} />}
      {way === 'provider' && <FromProvider {...ways} />}
      {way === 'file' && <FromFile {...ways} />}
      <ModelRoles view={view} onChange={show} />
    </StepFrame>
  );
}

function Current({ view: { roles, file } }: { view: SetupView }) {
  const { chat } = roles;
  if (chat !== undefined)
    return (
      <Note state="live" title={`${chat.model} answers`}>
        {chat.url && <span className="text-muted">{chat.url}</span>}
      </Note>
    );
  if (file !== undefined)
    return (
      <Note state="live" title="A model file answers">
        <span className="text-muted break-all">{file}</span>
      </Note>
    );
  return null;
}
