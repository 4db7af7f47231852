import { offlineSuggestions } from '@trunkline/std';
import {
  CheckboxField,
  DemoNote,
  type Health,
  PAGE,
  randomId,
  Suggestions,
  useApi,
  useHotkeys,
  useResource,
} from '@trunkline/ui';
import { Search, Telescope } from 'lucide-react';
import { type ReactNode, useId, useRef, useState } from 'react';
import type { SourceHealth, SourceKind } from '../../api-types.ts';
import { putPending } from '../chat/useChat.ts';
import { useAction } from '../lib/actions.ts';
import { goTo, hrefOf } from '../lib/route.ts';
import { useWork, WorkList } from '../library/LibraryPage.tsx';
import { SourcesLine } from '../status/SourcesPage.tsx';
import { AskForm } from './AskForm.tsx';

const DEFAULT_SETTINGS: ResearchSettings = {
  reviewPlan: true,
  strict: false,
  minutes: 0,
  sources: ['web', 'encyclopedia', 'files', 'offline'],
};

const KINDS: readonly { id: SourceKind; label: string }[] = [
  { id: 'web', label: 'Web' },
  { id: 'encyclopedia', label: 'Encyclopedia' },
  { id: 'files', label: 'Your files' },
  { id: 'offline', label: 'Offline reference' },
];

const LIMITS = [
  { value: '0', label: 'No time limit' },
  { value: '5', label: '5 minutes' },
  { value: '15', label: '15 minutes' },
  { value: '60', label: 'An hour' },
];

const MODES: readonly { id: Mode; label: string; icon: ReactNode; title: string }[] = [
  {
    id: 'search',
    label: 'Search',
    icon: <Search aria-hidden />,
    title: 'An answer with sources, in seconds',
  },
  {
    id: 'research',
    label: 'Research',
    icon: <Telescope aria-hidden />,
    title: 'A checked report, in minutes',
  },
];

const RECENT = 5;

/** The first page: one box, and what was asked before. */
export function AskPage({ health }: { health: Health | undefined }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const [mode, setMode] = useState<Mode>('search');
  const [settings, setSettings] = useState<ResearchSettings>(DEFAULT_SETTINGS);
  const { busy, ask } = useAsk(mode, settings);
  const work = useWork('', RECENT);
  const known = useResource<{ sources: SourceHealth[] }>('/healthz');
  useHotkeys([{ keys: '/', label: 'Go to the box', run: () => box.current?.focus() }]);
  return (
    <div className={`${PAGE} pt-12 md:pt-[12dvh]`}>
      <div className="flex flex-col gap-6">
        <h1 className="text-28 sm:text-40">What do you want to know?</h1>
        <div className="flex flex-col gap-3">
          <AskForm
            inputRef={box}
            label="Your question"
            placeholder={mode === 'search' ? 'Ask for an answer with sources' : 'Name a topic for a report'}
            action={mode === 'search' ? 'Search' : 'Research'}
            busy={busy}
            onAsk={ask}
          >
            <ModeChoice mode={mode} onMode={setMode} />
          </AskForm>
          {mode === 'research' && <ResearchSettingsForm settings={settings} onSettings={setSettings} />}
          <DemoNote health={health} />
          <SourcesLine sources={known.body?.sources} />
        </div>
      </div>
      {work.items.length === 0 && !work.isLoading && <FirstWords onAsk={ask} />}
      {work.items.length > 0 && (
        <section aria-labelledby="recent" className="flex flex-col gap-3 pt-4">
          <div className="flex items-baseline justify-between">
            <h2 id="recent" className="text-16">
              Recent
            </h2>
            <a
              href={hrefOf({ name: 'library' })}
              className="text-14 text-accent-text underline-offset-2 hover:underline"
            >
              See all
            </a>
          </div>
          <WorkList items={work.items} onChange={work.reload} />
        </section>
      )}
    </div>
  );
}

/** Explains the two modes to first-time users, with questions that can be answered offline. */
function FirstWords({ onAsk }: { onAsk(question: string): void }) {
  return (
    <div className="flex flex-col gap-8">
      <Suggestions label="Suggestions" texts={offlineSuggestions} onChoose={onAsk} />
      <dl className="grid gap-x-8 gap-y-4 text-14 sm:grid-cols-2">
        <div>
          <dt className="font-medium">Search</dt>
          <dd className="text-muted">An answer in seconds, with the sources it rests on.</dd>
        </div>
        <div>
          <dt className="font-medium">Research</dt>
          <dd className="text-muted">
            A plan you can change, many pages read, and a report whose every citation is checked.
          </dd>
        </div>
      </dl>
    </div>
  );
}

function useAsk(mode: Mode, settings: ResearchSettings) {
  const api = useApi();
  const { busy, run } = useAction('The research could not be started.');
  const ask = (question: string) => {
    if (mode === 'search') {
      const id = randomId();
      putPending(id, question);
      goTo({ name: 'chat', id });
      return;
    }
    run(async () => {
      const body = { query: question, ...bodyOf(settings) };
      const { researchId } = await api.request<{ researchId: string }>('/api/research/deep', { body });
      goTo({ name: 'research', id: researchId });
    });
  };
  return { busy, ask };
}

function bodyOf({ reviewPlan, strict, minutes, sources }: ResearchSettings) {
  return {
    ...(reviewPlan && { plan: 'review' }),
    ...(strict && { citations: 'strict' }),
    ...(minutes > 0 && { budget: { seconds: minutes * 60 } }),
    sources,
  };
}

type Mode = 'search' | 'research';

/** Search or research, as a pair of radio buttons. */
function ModeChoice({ mode, onMode }: { mode: Mode; onMode(mode: Mode): void }) {
  const name = useId();
  return (
    <fieldset className="flex rounded-corner bg-sunken p-0.5">
      <legend className="sr-only">What to do with it</legend>
      {MODES.map(({ id, label, icon, title }) => (
        <label
          key={id}
          title={title}
          className="flex h-8 cursor-pointer items-center gap-2 rounded-[6px] px-3 font-medium text-14 text-muted transition-colors hover:text-ink has-checked:bg-raised has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-focus pointer-coarse:h-10 [&_svg]:size-4"
        >
          <input
            type="radio"
            name={name}
            checked={mode === id}
            onChange={() => onMode(id)}
            className="sr-only"
          />
          {icon}
          {label}
        </label>
      ))}
    </fieldset>
  );
}

interface ResearchSettings {
  reviewPlan: boolean;
  /** Statements that no source bears out are left out of the report. */
  strict: boolean;
  /** 0 for no limit. */
  minutes: number;
  sources: SourceKind[];
}

/** How a report is to be made. */
function ResearchSettingsForm({
  settings,
  onSettings,
}: {
  settings: ResearchSettings;
  onSettings(settings: ResearchSettings): void;
}) {
  const { reviewPlan, strict, minutes, sources } = settings;
  const toggle = (kind: SourceKind, on: boolean) => {
    const chosen = KINDS.map(({ id }) => id).filter((id) => (id === kind ? on : sources.includes(id)));
    if (chosen.length > 0) onSettings({ ...settings, sources: chosen });
  };
  return (
    <div className="flex flex-wrap items-start justify-between gap-x-8 gap-y-4 rounded-corner border border-line p-4">
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium text-12 text-muted">Where to look</legend>
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          {KINDS.map(({ id, label }) => (
            <CheckboxField
              key={id}
              label={label}
              checked={sources.includes(id)}
              onChange={(checked) => toggle(id, checked)}
            />
          ))}
        </div>
      </fieldset>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium text-12 text-muted">How to go about it</legend>
        <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
          <CheckboxField
            label="Show me the plan first"
            checked={reviewPlan}
            onChange={(checked) => onSettings({ ...settings, reviewPlan: checked })}
          />
          <CheckboxField
            label="Only what sources bear out"
            checked={strict}
            onChange={(checked) => onSettings({ ...settings, strict: checked })}
          />
          <select
            aria-label="Time limit"
            value={String(minutes)}
            onChange={(event) => onSettings({ ...settings, minutes: Number(event.target.value) })}
            className="h-8 cursor-pointer rounded-corner border border-edge bg-raised px-2 text-14 pointer-coarse:h-11 pointer-coarse:text-16"
          >
            {LIMITS.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
      </fieldset>
    </div>
  );
}
