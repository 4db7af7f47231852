import { Button, Lamp, Panel, SelectField, TextField, useApi, useAttempt, useSend } from '@trunkline/ui';
import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import type { GatewayTest, ModelView, ProfileChange } from '../../../routes/console/config.ts';

const PROBE_MS = 130_000;

interface ModelProfileProps {
  model: string;
  profile: NonNullable<ModelView['profile']>;
  onSaved(): void;
}

/** How the model in use behaves: known, tried or set by hand; kept for all services. */
export function ModelProfile({ model, profile, onSaved }: ModelProfileProps) {
  const api = useApi();
  const attempt = useAttempt();
  const send = useSend();
  const [given, setGiven] = useState<ProfileChange>({});
  /** As typed: a comma at the end is not lost. */
  const [parameters, setParameters] = useState<string>();
  const [probe, setProbe] = useState<GatewayTest>();
  const [busy, setBusy] = useState(false);
  const shown = { ...profile, ...given };
  const isUnusable =
    Object.values(given).some((value) => typeof value === 'number' && !(value >= 1)) ||
    !isPriceWhole(given.price);
  const set = (facts: ProfileChange) => setGiven({ ...given, ...facts });
  const tryIt = async () => {
    setBusy(true);
    await attempt(async () => {
      const found = await api.request<GatewayTest>('/api/config/probe-model', {
        body: {},
        timeLimitMs: PROBE_MS,
      });
      setProbe(found);
      setGiven({ ...given, ...found.facts });
    });
    setBusy(false);
  };
  const save = async () => {
    const body = { model, facts: given };
    const done = { title: 'Saved.', detail: 'It counts for all services, from the next message on.' };
    if (await send('/api/config/model-profile', { method: 'PUT', body }, done)) {
      setGiven({});
      setParameters(undefined);
      onSaved();
    }
  };
  const numberField = (label: string, hint: string, name: NumberFact) => (
    <TextField
      label={label}
      hint={`${hint} Empty: what is known of the model.`}
      type="number"
      min={1}
      value={shown[name] ?? ''}
      onChange={({ target }) => set({ [name]: target.value === '' ? null : Number(target.value) })}
    />
  );
  const priceField = (label: string, hint: string, name: keyof GivenPrice) => (
    <TextField
      label={label}
      hint={`Dollars for a million tokens${hint}`}
      type="number"
      min={0}
      step="any"
      value={shown.price?.[name] ?? ''}
      onChange={({ target }) => {
        const { [name]: _, ...others }: GivenPrice = shown.price ?? {};
        const price = target.value === '' ? others : { ...others, [name]: Number(target.value) };
        // The server refuses a price that lacks a half; it cannot be saved before it is whole.
        set({ price: Object.keys(price).length === 0 ? null : (price as Price) });
      }}
    />
  );
  return (
    <Panel title={`How ${model} behaves`}>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-3">
          <Button icon={<FlaskConical aria-hidden />} busy={busy} onClick={() => void tryIt()}>
            Try it (costs a few hundred tokens)
          </Button>
        </div>
        <ul role="status" className="flex flex-col gap-1">
          {probe?.findings.map(({ subject, ok, words }) => (
            <li key={subject} className="flex flex-wrap items-center gap-2">
              <Lamp state={ok ? 'live' : 'waiting'} word={subject} />
              <span className="break-words text-muted">{words}</span>
            </li>
          ))}
        </ul>
        <div className="grid gap-3 sm:grid-cols-2">
          {numberField('Context window', 'Tokens of prompt and answer together.', 'context_tokens')}
          {numberField('Output limit', 'Tokens of the longest answer.', 'output_tokens')}
          <SelectField
            label="Tools"
            value={shown.tools ?? profile.tools}
            options={[
              { value: 'native', label: 'By the API' },
              { value: 'prompted', label: 'Described in the prompt' },
              { value: 'none', label: 'None' },
            ]}
            onChange={({ target }) => set({ tools: target.value as ProfileChange['tools'] })}
          />
          <SelectField
            label="Tool calls written as text"
            value={String(shown.text_tool_calls ?? profile.text_tool_calls)}
            options={[
              { value: 'true', label: 'Expected, and run' },
              { value: 'false', label: 'Not expected' },
            ]}
            onChange={({ target }) => set({ text_tool_calls: target.value === 'true' })}
          />
          <SelectField
            label="Reasoning"
            value={shown.reasoning ?? profile.reasoning}
            options={[
              { value: 'auto', label: 'Split off where it is marked' },
              { value: 'open', label: 'The answer begins within it' },
              { value: 'none', label: 'Leave answers as they are' },
            ]}
            onChange={({ target }) => set({ reasoning: target.value as ProfileChange['reasoning'] })}
          />
          <SelectField
            label="Images"
            value={String(shown.images ?? '')}
            options={[
              ...(shown.images === undefined ? [{ value: '', label: 'Not known' }] : []),
              { value: 'true', label: 'Sees them' },
              { value: 'false', label: 'Sees none' },
            ]}
            onChange={({ target }) => set({ images: target.value === 'true' })}
          />
          {numberField('First token', 'Seconds until an answer must begin.', 'first_token_timeout_s')}
          {numberField('Pause', 'Seconds that an answer may pause.', 'idle_timeout_s')}
          {numberField('Whole answer', 'Seconds that an answer may take in all.', 'answer_timeout_s')}
          {numberField('Loading', 'Seconds to wait for a model that is being loaded.', 'loading_timeout_s')}
          <TextField
            label="Omitted parameters"
            hint="Names with commas between, such as temperature, seed. Empty: what is known of the model."
            mono
            value={parameters ?? (shown.omit_parameters ?? []).join(', ')}
            onChange={({ target }) => {
              const names = target.value.split(/[\s,]+/).filter(Boolean);
              setParameters(target.value);
              set({ omit_parameters: names.length === 0 ? null : names });
            }}
          />
          {priceField('Price of input', '. Empty: what is known of the model.', 'input')}
          {priceField('Price of output', '. Input and output belong together.', 'output')}
          {priceField('Price of cached input', ' that the endpoint has read before.', 'cachedInput')}
        </div>
        <div className="flex flex-wrap items-center justify-end gap-3">
          <span className="text-12 text-muted">Kept in models.yaml in TRUNKLINE_HOME.</span>
          <Button
            variant="primary"
            disabled={Object.keys(given).length === 0 || isUnusable}
            onClick={() => void save()}
          >
            Save for all services
          </Button>
        </div>
      </div>
    </Panel>
  );
}

type NumberFact =
  | 'context_tokens'
  | 'output_tokens'
  | 'first_token_timeout_s'
  | 'idle_timeout_s'
  | 'answer_timeout_s'
  | 'loading_timeout_s';

type Price = NonNullable<ProfileChange['price']>;
type GivenPrice = Partial<Price>;

function isPriceWhole(price: GivenPrice | null | undefined): boolean {
  if (price === null || price === undefined) return true;
  const { input, output, cachedInput = 0 } = price;
  return input !== undefined && output !== undefined && Math.min(input, output, cachedInput) >= 0;
}
