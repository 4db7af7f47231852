import type { SearchTrial, SettingsView, SettingView } from '@trunkline/std';
import { KeyRound, Search, Server } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { TextField } from '../../src/components/Field.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { useResource } from '../../src/hooks/useResource.ts';
import { Busy, Choice, Note, Trouble } from './parts.tsx';
import { StepFrame, useSettled, useSetup, useWork } from './setup.tsx';

const TRIAL_MS = 40_000;

interface SearchField {
  variable: string;
  /** How the trial calls it. */
  name: string;
  label: string;
  hint: string;
  placeholder: string;
}

const key = (variable: string, name: string, hint: string): SearchField => ({
  variable,
  name,
  label: 'API key',
  hint,
  placeholder: 'Paste the key',
});

/** Services that search the web; the first field is the one that turns them on. */
const WAYS = [
  {
    id: 'searxng',
    title: 'SearXNG',
    detail: 'A server of your own',
    Icon: Server,
    fields: [
      {
        variable: 'SEARXNG_URL',
        name: 'url',
        label: 'Address',
        hint: 'Its settings must allow the format json.',
        placeholder: 'http://127.0.0.1:8888',
      },
      {
        variable: 'SEARXNG_BASIC_AUTH',
        name: 'basicAuth',
        label: 'User and password (if it asks)',
        hint: 'As user:password. Stored encrypted.',
        placeholder: 'user:password',
      },
    ],
  },
  {
    id: 'brave',
    title: 'Brave Search',
    detail: 'With an API key',
    Icon: KeyRound,
    fields: [key('BRAVE_API_KEY', 'braveApiKey', 'From api-dashboard.search.brave.com. Stored encrypted.')],
  },
  {
    id: 'tavily',
    title: 'Tavily',
    detail: 'With an API key',
    Icon: KeyRound,
    fields: [key('TAVILY_API_KEY', 'tavilyApiKey', 'From app.tavily.com. Stored encrypted.')],
  },
] as const satisfies readonly { id: string; fields: readonly SearchField[]; [field: string]: unknown }[];

type Way = (typeof WAYS)[number];

/** Where the web is searched, tried with a real query. */
export default function SearchStep() {
  const settings = useResource<SettingsView>('/operator/settings');
  return (
    <StepFrame
      title="Search the web"
      intro="Research, agent and voice look things up. With a SearXNG of your own or a key they are answered most reliably; without, public sources are asked, which refuse at times."
    >
      <Loaded resource={settings} failed="The settings could not be loaded.">
        {({ settings: all }) => <Sources settings={all} onChange={settings.reload} />}
      </Loaded>
    </StepFrame>
  );
}

function Sources({ settings, onChange }: { settings: readonly SettingView[]; onChange(): void }) {
  const isSet = ({ fields: [{ variable }] }: Way) =>
    settings.some((setting) => setting.variable === variable && setting.value !== null);
  const [id, setId] = useState<Way['id']>(() => WAYS.find(isSet)?.id ?? 'searxng');
  const choices = WAYS.map((way) => ({ ...way, detail: isSet(way) ? 'Set' : way.detail }));
  const way = WAYS.find((one) => one.id === id) ?? WAYS[0];
  return (
    <>
      <Choice label="Search service" choices={choices} value={id} onChange={setId} />
      <SearchService key={id} way={way} settings={settings} isSet={isSet(way)} onChange={onChange} />
    </>
  );
}

interface SearchServiceProps {
  way: Way;
  settings: readonly SettingView[];
  isSet: boolean;
  onChange(): void;
}

function SearchService({ way, settings, isSet, onChange }: SearchServiceProps) {
  const api = useApi();
  const settled = useSettled();
  const { mark } = useSetup();
  const fields: readonly SearchField[] = way.fields;
  const settingOf = (variable: string) => settings.find((setting) => setting.variable === variable);
  const storedIn = (variable: string) => {
    const setting = settingOf(variable);
    return setting === undefined || setting.secret ? '' : (setting.value ?? '');
  };
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(fields.map(({ variable }) => [variable, storedIn(variable)])),
  );
  const [query, setQuery] = useState('weather on Mars');
  const trial = useWork<SearchTrial>();
  const saving = useWork<string>();
  const given = fields
    .map((field) => ({ ...field, value: values[field.variable]?.trim() ?? '' }))
    .filter(({ value }) => value !== '');
  const isSaved = fields.every(({ variable }) => (values[variable]?.trim() ?? '') === storedIn(variable));
  const fixed = settingOf(way.fields[0].variable)?.fixed ?? null;
  const search = () =>
    trial.run((signal) =>
      api.request<SearchTrial>('/operator/setup/search', {
        // What is saved is tried as it counts; a stored secret is not known here.
        body: { query, ...(!isSaved && Object.fromEntries(given.map(({ name, value }) => [name, value]))) },
        signal,
        timeLimitMs: TRIAL_MS,
      }),
    );
  const change = (body: Record<string, string | null>, isThere: boolean, words: string) =>
    saving.run(async () => {
      await api.request('/operator/settings', { method: 'PATCH', body });
      await settled<{ sources?: { name: string }[] }>(
        '/healthz',
        ({ sources }) => sources?.some(({ name }) => name === way.id) === isThere,
      );
      await mark('done');
      onChange();
      return words;
    });
  const save = () =>
    change(
      Object.fromEntries(given.map(({ variable, value }) => [variable, value])),
      true,
      `${way.title} is searched from now on.`,
    );
  const remove = () => {
    setValues({});
    change(
      Object.fromEntries(fields.map(({ variable }) => [variable, null])),
      false,
      `${way.title} is not searched any more.`,
    );
  };
  return (
    <>
      <Panel title={way.title}>
        <div className="flex flex-col gap-4">
          {fixed && <Note state="waiting" title={fixed} />}
          <div className="grid gap-4 sm:grid-cols-2">
            {fields.map(({ variable, label, hint, placeholder }) => {
              const setting = settingOf(variable);
              return (
                <TextField
                  key={variable}
                  label={label}
                  mono
                  type={setting?.secret ? 'password' : 'url'}
                  autoComplete="off"
                  placeholder={setting?.secret && setting.value !== null ? 'Stored' : placeholder}
                  value={values[variable] ?? ''}
                  disabled={setting?.fixed != null}
                  hint={hint}
                  onChange={(event) => {
                    setValues({ ...values, [variable]: event.target.value });
                    saving.clear();
                  }}
                />
              );
            })}
          </div>
          <div className="flex flex-wrap gap-2">
            <Button
              variant="primary"
              busy={saving.busy}
              disabled={isSaved || given.length === 0 || fixed !== null}
              onClick={save}
            >
              Save
            </Button>
            {isSet && fixed === null && (
              <Button variant="quiet" disabled={saving.busy} onClick={remove}>
                Remove
              </Button>
            )}
          </div>
          {saving.busy && <Busy>Saving, and starting the search again</Busy>}
          <Trouble work={saving} what="It was not saved." />
          {saving.answer && <Note state="live" title={saving.answer} />}
        </div>
      </Panel>
      <Panel title="Try it" detail="Sends one real query to what is written above.">
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            search();
          }}
        >
          <TextField
            label="Query"
            required
            minLength={2}
            maxLength={200}
            className="min-w-0 flex-1 basis-64"
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
          <Button type="submit" icon={<Search aria-hidden />} busy={trial.busy}>
            Search
          </Button>
        </form>
        <div className="mt-4 flex flex-col gap-4 empty:hidden">
          {trial.busy && <Busy>Searching</Busy>}
          <Trouble work={trial} what="The search failed." />
          {trial.answer && <Found trial={trial.answer} />}
        </div>
      </Panel>
    </>
  );
}

function Found({ trial: { results, answered, troubles } }: { trial: SearchTrial }) {
  return (
    <>
      {answered.length > 0 && (
        <Note
          state={results.length > 0 ? 'live' : 'waiting'}
          title={`${answered.join(' and ')} answered${results.length > 0 ? '.' : ' and found nothing.'}`}
        />
      )}
      {troubles.map((words) => (
        <Note key={words} state={answered.length > 0 ? 'waiting' : 'failed'} title={words} />
      ))}
      {results.length > 0 && (
        <ul className="flex flex-col gap-3">
          {results.map(({ title, url, snippet, source }) => (
            <li key={url} className="min-w-0 text-14">
              <p className="flex items-baseline gap-2">
                <span className="min-w-0 truncate font-medium">{title}</span>
                <Badge>{source}</Badge>
              </p>
              <p className="truncate font-mono text-12 text-muted">{url}</p>
              <p className="line-clamp-2 text-muted">{snippet}</p>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
