import {
  ErrorState,
  Lamp,
  Mark,
  mountPage,
  RelativeTime,
  Skeleton,
  ThemeToggle,
  useResource,
} from '@trunkline/ui';
import '@trunkline/ui/styles.css';
import { type ReactNode, useEffect } from 'react';
import type { SharedReport } from '../api-types.ts';
import { judgesText } from '../citations/marks.ts';
import { ReportView } from './research/ReportView.tsx';
import { pageSettings } from './settings.ts';

/** One report for someone who has its link: to read, with its evidence, and nothing else. */
function SharedPage() {
  const { body, error } = useResource<SharedReport>(`${window.location.pathname.replace(/\/$/, '')}/report`);
  useEffect(() => {
    if (body !== undefined) document.title = `${body.query} · Trunkline Research`;
  }, [body]);
  return (
    <div className="mx-auto flex min-h-dvh max-w-5xl flex-col gap-8 px-4 py-6 sm:px-8">
      <header className="flex items-center justify-between gap-4">
        <p className="flex items-center gap-3 font-medium text-14">
          <Mark className="size-6" />
          Shared report
        </p>
        <ThemeToggle />
      </header>
      <main id="content" tabIndex={-1} className="flex flex-1 flex-col gap-6 outline-none">
        {error && <NotShared status={error.status}>{error.message}</NotShared>}
        {!body && !error && <Skeleton rows={8} />}
        {body && <Report report={body} />}
      </main>
      <footer className="border-line border-t pt-4 text-12 text-muted">Written by Trunkline Research.</footer>
    </div>
  );
}

function NotShared({ status, children }: { status: number; children: ReactNode }) {
  return (
    <ErrorState
      what={status === 404 ? 'This link does not work, or no longer.' : 'The report could not be loaded.'}
      why={children}
      todo={status === 404 ? 'Ask whoever sent it for a new one.' : 'Reload the page.'}
    />
  );
}

function Report({
  report: { query, report, citations, model, createdAt, sources, claims },
}: {
  report: SharedReport;
}) {
  return (
    <>
      <div className="flex flex-col gap-3">
        <h1 className="max-w-reading text-28 break-words">{query}</h1>
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-12 text-muted">
          {citations && (
            <Lamp
              state={citations.supported === citations.total ? 'live' : 'waiting'}
              word={[
                `${citations.supported} of ${citations.total} citations supported`,
                judgesText(citations),
              ]
                .filter(Boolean)
                .join(', ')}
            />
          )}
          <span className="font-mono">{model}</span>
          <RelativeTime at={createdAt} />
        </p>
      </div>
      <ReportView report={report} claims={claims} sources={sources} />
    </>
  );
}

mountPage(<SharedPage />, pageSettings);
