import { Badge, Lamp, type LampState } from '@trunkline/ui';
import { type ReactNode, useEffect, useState } from 'react';
import type { CitationScore, JobSnapshot } from '../../api-types.ts';
import { judgesText, problemText } from '../../citations/judge-words.ts';
import { costWords, countWords, durationWords } from '../lib/format.ts';
import { JobActions } from './JobActions.tsx';
import type { JobHandle } from './useJob.ts';

/** What was asked, how it stands, what it cost, and what can be done with it. */
export function JobHeader({ job }: { job: JobHandle }) {
  const { body } = job.snapshot;
  return (
    <header className="flex flex-col gap-4">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <h1 className="min-w-0 flex-1 basis-80 text-28 break-words">{body?.query ?? 'Research'}</h1>
        {body && <JobActions job={job} snapshot={body} />}
      </div>
      {body && <Figures snapshot={body} loadedAt={job.snapshot.loadedAt ?? Date.now()} />}
      {body?.citations?.problem && (
        <p className="max-w-reading text-12 break-words text-muted">{problemText(body.citations)}</p>
      )}
    </header>
  );
}

function Figures({ snapshot, loadedAt }: { snapshot: JobSnapshot; loadedAt: number }) {
  const { tokens, costUsd, sourceCount, citations, model } = snapshot;
  return (
    <dl className="flex flex-wrap items-center gap-x-6 gap-y-2 text-14">
      <div>
        <dt className="sr-only">State</dt>
        <dd>
          <Lamp {...lampOf(snapshot)} />
        </dd>
      </div>
      <Figure label="Time" value={<Elapsed snapshot={snapshot} loadedAt={loadedAt} />} />
      <Figure label="Sources read" value={sourceCount} />
      <Figure label="Tokens" value={countWords(tokens)} />
      <Figure label="Cost" value={costWords(costUsd)} />
      {citations && <Figure label="Citations supported" value={scoreWords(citations)} />}
      {model.demo && <Badge tone="accent">Offline demo model</Badge>}
    </dl>
  );
}

function Figure({ label, value }: { label: string; value: ReactNode }) {
  return (
    <div className="flex items-baseline gap-2">
      <dt className="text-12 text-muted">{label}</dt>
      <dd className="font-mono text-12">{value}</dd>
    </div>
  );
}

/** Goes on between two answers of the service. */
function Elapsed({ snapshot, loadedAt }: { snapshot: JobSnapshot; loadedAt: number }) {
  const ticks = snapshot.status === 'running' && snapshot.awaiting === undefined;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!ticks) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [ticks]);
  return durationWords(snapshot.elapsedMs + (ticks ? Math.max(0, now - loadedAt) : 0));
}

function scoreWords(score: CitationScore): string {
  const { total, supported, uncited } = score;
  const judges = judgesText(score);
  return [
    `${supported} of ${total}`,
    ...(uncited === 0 ? [] : [`${uncited} uncited`]),
    ...(judges === '' ? [] : [judges]),
  ].join(', ');
}

export function lampOf({ status, awaiting }: Pick<JobSnapshot, 'status' | 'awaiting'>): {
  state: LampState;
  word: string;
} {
  if (awaiting === 'plan' && status === 'running') return { state: 'waiting', word: 'Waits for your plan' };
  if (status === 'running') return { state: 'live', word: 'Running' };
  if (status === 'error') return { state: 'failed', word: 'Failed' };
  return status === 'complete' ? { state: 'idle', word: 'Complete' } : { state: 'idle', word: 'Stopped' };
}
