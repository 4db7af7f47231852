import type { SearchTrial, SettingsView } from '@trunkline/std';
import { Search } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { TextField } from '../../src/components/Field.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { useResource } from '../../src/hooks/useResource.ts';
import { Busy, Note, Trouble } from './parts.tsx';
import { StepFrame, useSettled, useSetup, useWork } from './setup.tsx';

const TRIAL_MS = 40_000;

/** Where the web is searched, tried with a real query. */
export default function SearchStep() {
  const settings = useResource<SettingsView>('/operator/settings');
  return (
    <StepFrame
      title="Search the web"
      intro="Research, agent and voice look things up. A SearXNG of your own answers most reliably; without one, public sources are asked, which refuse at times."
    >
      <Loaded resource={settings} failed="The settings could not be loaded.">
        {(view) => <Sources view={view} />}
      </Loaded>
    </StepFrame>
  );
}

function Sources({ view }: { view: SettingsView }) {
  const api = useApi();
  const settled = useSettled();
  const { mark } = useSetup();
  const address = view.settings.find(({ variable }) => variable === 'SEARXNG_URL');
  const password = view.settings.find(({ variable }) => variable === 'SEARXNG_BASIC_AUTH');
  const [url, setUrl] = useState(address?.value ?? '');
  const [basicAuth, setBasicAuth] = useState('');
  const [query, setQuery] = useState('weather on Mars');
  const trial = useWork<SearchTrial>();
  const saving = useWork<string>();
  const given = url.trim();
  const isSaved = given === (address?.value ?? '') && basicAuth === '';
  const search = () =>
    trial.run((signal) =>
      api.request<SearchTrial>('/operator/setup/search', {
        // What is saved is tried as it counts; a stored password is not known here.
        body: { query, ...(!isSaved && given !== '' && { url: given, ...(basicAuth && { basicAuth }) }) },
        signal,
        timeLimitMs: TRIAL_MS,
      }),
    );
  const save = () =>
    saving.run(async () => {
      const body = { SEARXNG_URL: given || null, ...(basicAuth && { SEARXNG_BASIC_AUTH: basicAuth }) };
      await api.request('/operator/settings', { method: 'PATCH', body });
      await settled<{ sources?: { name: string }[] }>(
        '/healthz',
        ({ sources }) => sources?.some(({ name }) => name === 'searxng') === (given !== ''),
      );
      await mark('done');
      return given === '' ? 'Public sources are searched.' : 'This SearXNG is searched from now on.';
    });
  return (
    <>
      <Panel title="SearXNG">
        <div className="flex flex-col gap-4">
          {address?.fixed && <Note state="waiting" title={address.fixed} />}
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField
              label="Address"
              mono
              type="url"
              placeholder="http://127.0.0.1:8888"
              value={url}
              disabled={address?.fixed != null}
              hint="Its settings must allow the format json. Leave it empty for public sources."
              onChange={(event) => {
                setUrl(event.target.value);
                saving.clear();
              }}
            />
            <TextField
              label="User and password (if it asks)"
              type="password"
              mono
              autoComplete="off"
              placeholder={password?.value === null ? 'user:password' : 'Stored'}
              value={basicAuth}
              disabled={password?.fixed != null}
              hint="As user:password. Stored encrypted."
              onChange={(event) => setBasicAuth(event.target.value)}
            />
          </div>
          <div>
            <Button
              variant="primary"
              busy={saving.busy}
              disabled={isSaved || address?.fixed != null}
              onClick={save}
            >
              Save
            </Button>
          </div>
          {saving.busy && <Busy>Saving, and starting the search again</Busy>}
          <Trouble work={saving} what="The address was not saved." />
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
