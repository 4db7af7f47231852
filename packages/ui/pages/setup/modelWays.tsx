import type {
  FoundGateway,
  FoundGateways,
  ModelList,
  ModelPlace,
  SavedModel,
  SetupView,
} from '@trunkline/std';
import { ExternalLink, FileBox, RefreshCw, Search } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { EmptyState } from '../../src/components/EmptyState.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { plural } from '../../src/lib/figures.ts';
import { TestAndSave } from './ModelTrial.tsx';
import { Busy, Note, Trouble } from './parts.tsx';
import { useSetup, useWork } from './setup.tsx';

const LIST_MS = 30_000;

export interface WayProps {
  view: SetupView;
  save(saved: SavedModel): void;
  isSaving: boolean;
}

/** A model server that runs here already; looked for only when the person says so. */
export function FromMachine(props: WayProps) {
  const api = useApi();
  const search = useWork<FoundGateway[]>();
  const [chosen, setChosen] = useState<FoundGateway>();
  const hint = props.view.providers.find(({ id }) => id === chosen?.kind)?.note;
  const find = () => {
    setChosen(undefined);
    search.run(async (signal) => {
      const request = { method: 'POST' as const, body: {}, signal, timeLimitMs: LIST_MS };
      const { gateways } = await api.request<FoundGateways>('/operator/setup/find', request);
      setChosen(gateways.length === 1 ? gateways[0] : undefined);
      return gateways;
    });
  };
  return (
    <>
      <Panel
        title="Model servers on this machine"
        detail="Looks at the ports 11434, 1234, 8080 and 8000 of this machine, and nowhere else."
        actions={
          <Button icon={<Search aria-hidden />} busy={search.busy} onClick={find}>
            {search.answer === undefined ? 'Look for one' : 'Look again'}
          </Button>
        }
        flush
      >
        <div className="flex flex-col gap-4 p-4 empty:hidden">
          {search.busy && <Busy>Looking for a model server</Busy>}
          <Trouble work={search} what="The machine could not be searched." />
          {search.answer?.length === 0 && (
            <Note state="waiting" title="No model server answers here">
              Start one, for example with <code>ollama serve</code>, and look again. If it is elsewhere,
              choose another address above.
            </Note>
          )}
          {search.answer && search.answer.length > 0 && (
            <ul className="flex flex-col gap-2">
              {search.answer.map((gateway) => (
                <Gateway
                  key={gateway.url}
                  gateway={gateway}
                  isChosen={chosen?.url === gateway.url}
                  onChoose={() => setChosen(gateway)}
                />
              ))}
            </ul>
          )}
        </div>
      </Panel>
      {hint && <p className="text-14 text-muted">{hint}</p>}
      {chosen && !chosen.needsKey && (
        <TestAndSave key={chosen.url} place={{ url: chosen.url }} models={chosen.models} {...props} />
      )}
      {chosen?.needsKey && <AtAddress key={chosen.url} url={chosen.url} needsKey {...props} />}
    </>
  );
}

/** A model server that is neither found here nor in the list of providers. */
export function FromAddress(props: WayProps) {
  return <AtAddress url="" needsKey={false} {...props} />;
}

interface GatewayProps {
  gateway: FoundGateway;
  isChosen: boolean;
  onChoose(): void;
}

function Gateway({ gateway: { title, url, models, needsKey }, isChosen, onChoose }: GatewayProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-corner border border-line px-3 py-2">
      <div className="min-w-0 flex-1">
        <p className="font-medium text-14">{title}</p>
        <p className="font-mono text-12 break-all text-muted">{url}</p>
      </div>
      <Badge>{needsKey ? 'Asks for a key' : plural(models.length, 'model')}</Badge>
      <Button size="small" aria-pressed={isChosen} disabled={isChosen} onClick={onChoose}>
        {isChosen ? 'Chosen' : 'Choose'}
      </Button>
    </li>
  );
}

/** A service on the network, with the person's key. */
export function FromProvider(props: WayProps) {
  const { providers } = props.view;
  const [id, setId] = useState('');
  const preset = providers.find((one) => one.id === id);
  return (
    <>
      <SelectField
        label="Provider"
        value={id}
        options={[
          { value: '', label: 'Choose a provider' },
          ...providers.map((one) => ({ value: one.id, label: one.title })),
        ]}
        hint={preset?.note}
        onChange={(event) => setId(event.target.value)}
        className="max-w-md"
      />
      {preset && <AtAddress key={preset.id} {...preset} {...props} />}
    </>
  );
}

interface AtAddressProps extends WayProps {
  url: string;
  needsKey: boolean;
  keyPage?: string | undefined;
  exampleModel?: string | undefined;
}

/** Lists the models of an address, then has one tested and saved. */
function AtAddress({ url: given, needsKey, keyPage, exampleModel, ...props }: AtAddressProps) {
  const api = useApi();
  const [url, setUrl] = useState(given);
  const [apiKey, setApiKey] = useState('');
  const list = useWork<ModelList>();
  const place: ModelPlace = { url: list.answer?.url ?? url, ...(apiKey.trim() && { apiKey: apiKey.trim() }) };
  const load = () =>
    list.run((signal) =>
      api.request<ModelList>('/operator/setup/models', { body: place, signal, timeLimitMs: LIST_MS }),
    );
  const isOpen = /[<>]/.test(url);
  return (
    <>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          load();
        }}
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Address"
            mono
            required
            placeholder="http://192.168.1.20:11434"
            value={url}
            hint={isOpen ? 'Fill in the parts in angle brackets.' : undefined}
            onChange={(event) => {
              setUrl(event.target.value);
              list.clear();
            }}
          />
          <TextField
            label={needsKey ? 'Key' : 'Key (if it asks for one)'}
            type="password"
            mono
            autoComplete="off"
            value={apiKey}
            hint="Stored encrypted; no page ever shows it."
            onChange={(event) => {
              setApiKey(event.target.value);
              list.clear();
            }}
          />
        </div>
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" busy={list.busy} disabled={isOpen || url.trim() === ''}>
            List models
          </Button>
          {keyPage && (
            <a
              href={keyPage}
              target="_blank"
              rel="noreferrer"
              className="inline-flex items-center gap-1 text-14 text-accent-text underline underline-offset-2"
            >
              Get a key <ExternalLink aria-hidden className="size-3" />
            </a>
          )}
        </div>
      </form>
      {list.busy && <Busy>Asking for the models</Busy>}
      <Trouble work={list} what="The models could not be listed." />
      {list.answer?.ok === false && (
        <Note state="failed" title="The models could not be listed.">
          {list.answer.problem}
        </Note>
      )}
      {list.answer && (
        <TestAndSave
          key={list.answer.url}
          place={place}
          models={list.answer.models}
          isUnlisted={!list.answer.ok}
          exampleModel={exampleModel}
          {...props}
        />
      )}
    </>
  );
}

/** A GGUF file in the folder for models. */
export function FromFile(props: WayProps) {
  const { show } = useSetup();
  const api = useApi();
  const reload = useWork<SetupView>();
  const { files, folder } = props.view;
  const [path, setPath] = useState<string>();
  const chosen = files.find((file) => file.path === path) ?? files[0];
  const lookAgain = () =>
    reload.run(async (signal) => {
      const view = await api.request<SetupView>('/operator/setup', { signal });
      show(view);
      return view;
    });
  if (chosen === undefined)
    return (
      <EmptyState
        icon={<FileBox aria-hidden />}
        title="No model file yet"
        next={`Put a .gguf file into ${folder} (make the folder if it is not there), then look again.`}
        action={
          <Button icon={<RefreshCw aria-hidden />} busy={reload.busy} onClick={lookAgain}>
            Look again
          </Button>
        }
      />
    );
  return (
    <>
      <SelectField
        label="Model file"
        value={chosen.path}
        options={files.map(({ name, path: value, bytes }) => ({
          value,
          label: `${name} (${(bytes / 1e9).toFixed(1)} GB)`,
        }))}
        onChange={(event) => setPath(event.target.value)}
        hint={`The .gguf files in ${folder}.`}
        className="max-w-md"
      />
      <TestAndSave key={chosen.path} file={chosen.path} {...props} />
    </>
  );
}
