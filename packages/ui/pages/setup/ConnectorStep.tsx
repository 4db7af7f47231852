import {
  type ConnectorCheck,
  type ConnectorsView,
  type ConnectorView,
  testMessage,
  testTopicAt,
} from '@trunkline/std';
import { PlugZap, Send } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { useResource } from '../../src/hooks/useResource.ts';
import { Busy, Note, Trouble } from './parts.tsx';
import { StepFrame, useSettled, useSetup, useWork } from './setup.tsx';

const PATH = '/operator/setup/connectors';
const CHECK_MS = 30_000;

type Connectors = ConnectorsView['connectors'];

/** One product through which people write to agents: its token, a check, and a test message. */
export default function ConnectorStep() {
  const resource = useResource<ConnectorsView>(PATH);
  return (
    <StepFrame
      title="Connect a product"
      intro="People then write to your agents where they already are. Start with one; the others can follow later."
    >
      <Loaded resource={resource} failed="The connectors could not be loaded.">
        {({ connectors }) => <Connect connectors={connectors} onChange={resource.reload} />}
      </Loaded>
    </StepFrame>
  );
}

function Connect({ connectors, onChange }: { connectors: Connectors; onChange(): void }) {
  const [name, setName] = useState(() => connectors.find(({ state }) => state !== 'off')?.name ?? '');
  const chosen = connectors.find((connector) => connector.name === name);
  return (
    <>
      <SelectField
        label="Product"
        value={name}
        options={[
          { value: '', label: 'Choose a product' },
          ...connectors.map(({ name: value, title, state }) => ({
            value,
            label: state === 'off' ? title : `${title} (${state === 'running' ? 'connected' : state})`,
          })),
        ]}
        onChange={(event) => setName(event.target.value)}
        className="max-w-md"
      />
      {chosen && <Connector key={chosen.name} connector={chosen} onChange={onChange} />}
    </>
  );
}

function Connector({ connector, onChange }: { connector: ConnectorView; onChange(): void }) {
  const api = useApi();
  const settled = useSettled();
  const { mark } = useSetup();
  const { name, title, guide, state, words, fields } = connector;
  const [values, setValues] = useState<Record<string, string>>({});
  const check = useWork<ConnectorCheck>();
  const saving = useWork<ConnectorView>();
  const given = Object.fromEntries(
    Object.entries(values)
      .map(([variable, value]): [string, string] => [variable, value.trim()])
      .filter(([, value]) => value !== ''),
  );
  const hasChanges = Object.keys(given).length > 0;
  const ask = () =>
    check.run((signal) =>
      api.request<ConnectorCheck>(`${PATH}/${name}/check`, {
        body: { values: given },
        signal,
        timeLimitMs: CHECK_MS,
      }),
    );
  const save = () =>
    saving.run(async () => {
      await api.request('/operator/settings', { method: 'PATCH', body: given });
      const view = await settled<ConnectorsView>(PATH, ({ connectors }) => isTaken(connectors, name, given));
      const after = view.connectors.find((one) => one.name === name) ?? connector;
      if (after.state === 'running') await mark('done');
      setValues({});
      onChange();
      return after;
    });
  const field = (entry: ConnectorView['fields'][number]) => (
    <TextField
      key={entry.variable}
      label={entry.variable}
      mono
      hint={entry.doc}
      type={entry.secret ? 'password' : 'text'}
      autoComplete="off"
      placeholder={entry.secret && entry.isSet ? 'Stored' : undefined}
      value={values[entry.variable] ?? entry.value ?? ''}
      onChange={(event) => {
        setValues({ ...values, [entry.variable]: event.target.value });
        check.clear();
      }}
    />
  );
  const optional = fields.filter(({ isOptional }) => isOptional);
  return (
    <>
      <Panel title={title} detail={guide}>
        <div className="flex flex-col gap-4">
          {state === 'failed' && <Note state="failed" title={words ?? 'It did not start.'} />}
          {state === 'running' && !saving.answer && <Note state="live" title={`${title} is connected.`} />}
          <div className="grid gap-4 sm:grid-cols-2">
            {fields.filter(({ isOptional }) => !isOptional).map(field)}
          </div>
          {optional.length > 0 && (
            <details>
              <summary className="cursor-pointer text-14 text-muted hover:text-ink">More</summary>
              <div className="mt-3 grid gap-4 sm:grid-cols-2">{optional.map(field)}</div>
            </details>
          )}
          <div className="flex flex-wrap gap-2">
            <Button icon={<PlugZap aria-hidden />} busy={check.busy} onClick={ask}>
              Check
            </Button>
            <Button variant="primary" busy={saving.busy} disabled={!hasChanges} onClick={save}>
              Save
            </Button>
          </div>
          {check.busy && <Busy>{`Asking ${title}`}</Busy>}
          <Trouble work={check} what="The check failed." />
          {check.answer && (
            <Note state={check.answer.ok ? 'live' : 'failed'} title={sentence(check.answer.words)} />
          )}
          {saving.busy && <Busy>Saving, and connecting</Busy>}
          <Trouble work={saving} what="The settings were not saved." />
          {saving.answer && <Saved connector={saving.answer} />}
        </div>
      </Panel>
      {state === 'running' && connector.testTopic !== null && (
        <TestMessage title={title} topic={connector.testTopic} place={connector.testPlace} />
      )}
    </>
  );
}

/** Whether the switchboard runs with what was saved; secrets only tell that they are set. */
function isTaken(connectors: Connectors, name: string, given: Record<string, string>): boolean {
  const found = connectors.find((connector) => connector.name === name);
  if (found === undefined || found.state === 'waiting') return false;
  return found.fields
    .filter(({ variable }) => variable in given)
    .every(({ variable, secret, value, isSet }) => (secret ? isSet : value === given[variable]));
}

function Saved({ connector: { title, state, words } }: { connector: ConnectorView }) {
  if (state === 'running') return <Note state="live" title={`${title} is connected.`} />;
  return (
    <Note
      state={state === 'failed' ? 'failed' : 'waiting'}
      title={`Saved, and ${title} is not connected yet.`}
    >
      {words}
    </Note>
  );
}

interface SentMessage {
  data: {
    deliveries: { correlationId: string; state: 'queued' | 'sent' | 'failed'; error: string | null }[];
  };
}

interface TestMessageProps {
  title: string;
  topic: string;
  place: ConnectorView['testPlace'];
}

function TestMessage({ title, topic, place }: TestMessageProps) {
  const api = useApi();
  const settled = useSettled();
  const sending = useWork<{ isSent: boolean; error: string | null }>();
  const [content, setContent] = useState(testMessage.content);
  const [named, setNamed] = useState('');
  const send = () =>
    sending.run(async () => {
      const correlationId = crypto.randomUUID();
      const body = { topic: testTopicAt(topic, named), payload: { ...testMessage, content }, correlationId };
      await api.request('/publish', { body });
      const find = ({ data: { deliveries } }: SentMessage) =>
        deliveries.find((one) => one.correlationId === correlationId && one.state !== 'queued');
      const found = find(
        await settled<SentMessage>('/api/deliveries?limit=20', (body) => find(body) !== undefined),
      );
      return { isSent: found?.state === 'sent', error: found?.error ?? null };
    });
  return (
    <Panel title="Test message" detail={`Goes to ${title} as the answers of agents do.`}>
      <div className="flex flex-col gap-4">
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          {place && (
            <TextField
              label={place.label}
              required
              maxLength={200}
              placeholder={place.example}
              className="min-w-0 flex-1 basis-48"
              value={named}
              onChange={(event) => setNamed(event.target.value)}
            />
          )}
          <TextField
            label="Message"
            required
            maxLength={500}
            className="min-w-0 flex-1 basis-64"
            value={content}
            onChange={(event) => setContent(event.target.value)}
          />
          <Button type="submit" icon={<Send aria-hidden />} busy={sending.busy}>
            Send
          </Button>
        </form>
        {sending.busy && <Busy>Sending</Busy>}
        <Trouble work={sending} what="The message was not sent." />
        {sending.answer?.isSent && <Note state="live" title={`Sent. Look at ${title}.`} />}
        {sending.answer?.isSent === false && (
          <Note state="failed" title="The message was not delivered.">
            {sending.answer.error}
          </Note>
        )}
      </div>
    </Panel>
  );
}

function sentence(words: string): string {
  const begun = words.slice(0, 1).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
