import { DemoNote, type Health, useApi, useHotkeys, useResource } from '@trunkline/ui';
import { useRef, useState } from 'react';
import type { SourceHealth } from '../../api-types.ts';
import { putPending } from '../chat/pending.ts';
import { newId } from '../lib/format.ts';
import { goTo, hrefOf } from '../lib/route.ts';
import { useAction } from '../lib/useAction.ts';
import { useWork } from '../library/useWork.ts';
import { WorkList } from '../library/WorkList.tsx';
import { SourcesLine } from '../status/SourcesLine.tsx';
import { AskForm } from './AskForm.tsx';
import { type Mode, ModeChoice } from './ModeChoice.tsx';
import { DEFAULT_SETTINGS, type ResearchSettings, ResearchSettingsForm } from './ResearchSettingsForm.tsx';

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
    <div className="mx-auto flex max-w-3xl flex-col gap-10 px-4 py-12 sm:px-8 md:pt-[16dvh]">
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
          <DemoNote health={health} href={hrefOf({ name: 'sources' })} />
          <SourcesLine sources={known.body?.sources} />
        </div>
      </div>
      {work.items.length === 0 && !work.isLoading && <FirstWords />}
      {work.items.length > 0 && (
        <section aria-labelledby="recent" className="flex flex-col gap-3">
          <div className="flex items-baseline justify-between">
            <h2 id="recent" className="text-16">
              Before
            </h2>
            <a
              href={hrefOf({ name: 'library' })}
              className="text-14 text-accent-text underline-offset-2 hover:underline"
            >
              All of it
            </a>
          </div>
          <WorkList items={work.items} />
        </section>
      )}
    </div>
  );
}

/** For whoever is here for the first time. */
function FirstWords() {
  return (
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
  );
}

function useAsk(mode: Mode, settings: ResearchSettings) {
  const api = useApi();
  const { busy, run } = useAction('The research could not be started.');
  const ask = (question: string) => {
    if (mode === 'search') {
      const id = newId();
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

function bodyOf({ reviewPlan, minutes, sources }: ResearchSettings) {
  return {
    ...(reviewPlan && { plan: 'review' }),
    ...(minutes > 0 && { budget: { seconds: minutes * 60 } }),
    sources,
  };
}
