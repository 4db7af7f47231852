import type { ProviderPreset, SetupView } from '@trunkline/std';
import {
  Button,
  CheckedEditor,
  hashRoute,
  Lamp,
  type LineMessage,
  Loaded,
  ModelBadge,
  Panel,
  PostureLine,
  SelectField,
  stateLamp,
  Tabs,
  TextField,
  useApi,
  useAttempt,
  useHashRoute,
  useResource,
  useSend,
} from '@trunkline/ui';
import { RadioTower } from 'lucide-react';
import { type ReactNode, useCallback, useState } from 'react';
import type { ModelCheck, ModelView } from '../../../routes/console/config.ts';
import { useLive } from '../../app/live.ts';
import { PageFrame, useServiceHealth } from '../../shared/AgentShell.tsx';
import { ModelProfile } from './ModelProfile.tsx';

const TRIAL_MS = 20_000;
/** Sent as the key where the server asks for none, so that a stored key of another endpoint is not. */
const NO_KEY = 'none';

/** The model, and the configuration as a whole. */
export default function SettingsPage() {
  const [, tab = 'model'] = useHashRoute();
  const choose = (id: string) => {
    window.location.hash = hashRoute('settings', id);
  };
  return (
    <PageFrame title="Settings" intro="The model that answers, and everything else in the configuration.">
      <Tabs
        label="Settings"
        value={tab === 'configuration' ? tab : 'model'}
        onChange={choose}
        tabs={[
          { id: 'model', label: 'Model', content: <ModelSetup /> },
          { id: 'configuration', label: 'Configuration', content: <ConfigEditor /> },
        ]}
      />
      <PostureLine />
    </PageFrame>
  );
}

/** The configuration as text. */
function ConfigEditor() {
  const resource = useResource<{ file: string; text: string }>('/api/config');
  const api = useApi();
  const send = useSend();
  useLive(['config'], resource.reload);
  const check = useCallback(
    async (text: string, signal: AbortSignal) => {
      const request = { body: { text }, signal };
      return (await api.request<{ problems: LineMessage[] }>('/api/config/check', request)).problems;
    },
    [api],
  );
  const save = async (text: string, before: string) => {
    const done = { title: 'Saved.', detail: 'It takes effect in a moment.' };
    const saved = await send('/api/config', { method: 'PUT', body: { text, before } }, done);
    if (saved) resource.reload();
    return saved;
  };
  return (
    <Loaded resource={resource} failed="The configuration could not be loaded." rows={10}>
      {({ file, text }) => (
        <div className="flex flex-col gap-3">
          <p className="font-mono text-12 break-all text-muted">{file}</p>
          <CheckedEditor label="The configuration" saved={text} check={check} save={save} />
        </div>
      )}
    </Loaded>
  );
}

/** Sets up the model in three steps: where it is, whether it answers, and which one to use. */
function ModelSetup() {
  const resource = useResource<ModelView>('/api/config/model');
  useLive(['config'], resource.reload);
  return (
    <Loaded resource={resource} failed="The settings could not be loaded.">
      {(settings) => (
        <div className="flex flex-col gap-4">
          <Present settings={settings} />
          <OwnModel settings={settings}>
            <Wizard
              key={`${settings.api_base} ${settings.model}`}
              settings={settings}
              onSaved={resource.reload}
            />
          </OwnModel>
          {settings.profile && settings.model_in_use && (
            <ModelProfile
              key={settings.model_in_use}
              model={settings.model_in_use}
              profile={settings.profile}
              onSaved={resource.reload}
            />
          )}
        </div>
      )}
    </Loaded>
  );
}

/** Whether the model is that of all services, which the page /setup sets. */
function useIsShared({ api_base }: ModelView): boolean {
  const { health } = useServiceHealth();
  return api_base === '' && health?.model?.demo === false;
}

/** A model of its own is the exception where all services have one. */
function OwnModel({ settings, children }: { settings: ModelView; children: ReactNode }) {
  const isShared = useIsShared(settings);
  if (!isShared) return children;
  return (
    <>
      <p className="text-14">
        All services use this model.{' '}
        <a className="text-accent-text underline underline-offset-2" href="/setup/model">
          Change it in Setup
        </a>
      </p>
      <details>
        <summary className="cursor-pointer text-14 text-muted hover:text-ink">
          Use another model for the agent alone
        </summary>
        <div className="mt-4">{children}</div>
      </details>
    </>
  );
}

function Present({ settings }: { settings: ModelView }) {
  const { health } = useServiceHealth();
  const isSet = useIsShared(settings) || settings.setup_complete;
  return (
    <p className="flex flex-wrap items-center gap-3">
      <Lamp {...(isSet ? stateLamp('done', 'Set up') : stateLamp('open', 'Not set up yet'))} />
      {health?.model && (
        <>
          <span className="font-mono text-12">{health.model.name}</span>
          <ModelBadge model={health.model} />
        </>
      )}
    </p>
  );
}

function Wizard({ settings, onSaved }: { settings: ModelView; onSaved(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  const [address, setAddress] = useState(settings.api_base);
  const [key, setKey] = useState('');
  const [model, setModel] = useState(settings.model);
  const [check, setCheck] = useState<ModelCheck>();
  const [busy, setBusy] = useState<'test' | 'save' | null>(null);
  const providers = useProviders();
  const provider = providers.find(({ url }) => placeOf(url) === placeOf(address));
  const valid = /^https?:\/\/./.test(address.trim()) && URL.canParse(address.trim());
  const keepsKey = settings.has_key && placeOf(address) === placeOf(settings.api_base);
  const isKeyOptional = provider ? !provider.needsKey : isLocal(address);
  const givenKey = key.trim() || (isKeyOptional && !keepsKey ? NO_KEY : '');
  const given = () => ({
    ...(valid && { api_base: address.trim() }),
    ...(givenKey !== '' && { api_key: givenKey }),
    ...(model !== '' && { model }),
  });
  const during = async (what: 'test' | 'save', work: () => Promise<unknown>) => {
    setBusy(what);
    await work();
    setBusy(null);
  };
  const test = () =>
    attempt(async () => {
      const found = await api.request<ModelCheck>('/api/config/test-model', {
        body: given(),
        timeLimitMs: TRIAL_MS,
      });
      setCheck(found);
      if (model === '' && found.models[0] !== undefined) setModel(found.models[0]);
    });
  const save = async () => {
    const saved = await attempt(() => api.request('/api/config/setup', { body: given() }), {
      title: 'The model is set up.',
      detail: 'The next message goes to it.',
    });
    if (saved) onSaved();
  };
  return (
    <ol className="flex flex-col gap-4">
      <Step number={1} title="Where the model is">
        {providers.length > 0 && (
          <SelectField
            label="Provider"
            value={provider?.id ?? ''}
            options={[
              { value: '', label: 'Another address' },
              ...providers.map(({ id, title }) => ({ value: id, label: title })),
            ]}
            hint={provider?.note}
            onChange={(event) => setAddress(providers.find(({ id }) => id === event.target.value)?.url ?? '')}
          />
        )}
        <TextField
          label="Address"
          mono
          type="url"
          placeholder="https://models.example/v1"
          hint="Any OpenAI-compatible address, such as http://127.0.0.1:11434/v1 for a model on this machine."
          value={address}
          error={
            address !== '' && !valid
              ? 'Give a whole address that starts with http:// or https://.'
              : undefined
          }
          onChange={(event) => setAddress(event.target.value)}
        />
        <TextField
          label="Key"
          mono
          type="password"
          autoComplete="off"
          hint={keyHint(settings, { keepsKey, isKeyOptional, keyPage: provider?.keyPage })}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </Step>
      <Step number={2} title="Whether it answers">
        <div className="flex flex-wrap items-center gap-3">
          <Button
            icon={<RadioTower aria-hidden />}
            busy={busy === 'test'}
            disabled={!valid || (givenKey === '' && settings.has_key && !keepsKey)}
            onClick={() => void during('test', test)}
          >
            Test the connection
          </Button>
          <span role="status">
            {check && <Lamp state={check.models.length > 0 ? 'live' : 'failed'} word={wordOf(check)} />}
          </span>
        </div>
        {check && check.models.length === 0 && <p className="break-words text-muted">{check.message}</p>}
      </Step>
      <Step number={3} title="Which model">
        <ModelChoice
          models={check?.models ?? []}
          example={provider?.exampleModel}
          value={model}
          onChange={setModel}
        />
        <div className="flex justify-end">
          <Button
            variant="primary"
            busy={busy === 'save'}
            disabled={!valid || model === '' || (givenKey === '' && !keepsKey)}
            onClick={() => void during('save', save)}
          >
            Use this model
          </Button>
        </div>
      </Step>
    </ol>
  );
}

// The service has the last word on what is the same endpoint.
function placeOf(address: string): string {
  const text = address.trim();
  return (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, '');
}

/** The presets of the setup, for the operator; none for others. */
function useProviders(): readonly ProviderPreset[] {
  return useResource<Pick<SetupView, 'providers'>>('/operator/setup').body?.providers ?? [];
}

/** Servers on this machine and in this network seldom ask for a key. */
function isLocal(address: string): boolean {
  if (!URL.canParse(address.trim())) return false;
  return /^(localhost|127\.|10\.|192\.168\.|\[::1\])|\.local$/.test(new URL(address.trim()).hostname);
}

interface KeyFacts {
  keepsKey: boolean;
  isKeyOptional: boolean;
  keyPage: string | undefined;
}

function keyHint({ has_key }: ModelView, { keepsKey, isKeyOptional, keyPage }: KeyFacts): ReactNode {
  if (keepsKey) return 'A key is kept already; leave this empty to keep it.';
  if (isKeyOptional) return 'Optional here: leave it empty where the server asks for none. Kept encrypted.';
  const kept = has_key ? 'The key that is kept stays with its endpoint: give the key of this one. ' : '';
  return (
    <>
      {kept}Kept encrypted on the service alone.{' '}
      {keyPage && (
        <a
          className="text-accent-text underline underline-offset-2"
          href={keyPage}
          target="_blank"
          rel="noreferrer"
        >
          Make a key
        </a>
      )}
    </>
  );
}

function wordOf({ models }: ModelCheck): string {
  return models.length > 0 ? `It answers with ${models.length} models` : 'It does not answer';
}

interface ModelChoiceProps {
  models: readonly string[];
  /** A name to begin with. */
  example: string | undefined;
  value: string;
  onChange(model: string): void;
}

// A list once the endpoint has told its models; a name to type before that.
function ModelChoice({ models, example, value, onChange }: ModelChoiceProps) {
  if (models.length === 0) {
    return (
      <TextField
        label="Model"
        mono
        placeholder={example}
        hint="Test the connection to choose from a list."
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  const known = models.includes(value) || value === '' ? models : [value, ...models];
  return (
    <SelectField
      label="Model"
      value={value}
      options={known.map((name) => ({ value: name, label: name }))}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <li>
      <Panel title={`${number}. ${title}`}>
        <div className="flex flex-col gap-4">{children}</div>
      </Panel>
    </li>
  );
}
