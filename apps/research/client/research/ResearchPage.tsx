import { Button, ErrorState, Lamp, PAGE, Skeleton, Tabs, useApi } from '@trunkline/ui';
import { Play } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import type { Claim, JobPhase, JobSnapshot, JobSource } from '../../api-types.ts';
import { useAction } from '../lib/actions.ts';
import { JobHeader } from './JobHeader.tsx';
import { DimensionCards, PlanCard, ProgressStrip } from './JobProgress.tsx';
import { ActivityTab, EvidenceTab, SourcesTab } from './JobTabs.tsx';
import { FollowUps, ReportView } from './ReportView.tsx';
import { type JobHandle, useJob } from './useJob.ts';

const PARTS: Record<JobPhase, string> = {
  scope: 'planning',
  research: 'researching',
  evaluate: 'looking for gaps',
  synthesis: 'writing the report',
  done: 'finishing',
};

const NO_SOURCES: JobSource[] = [];
const NO_CLAIMS: Claim[] = [];

/** One research job, from its plan to its report. */
export function ResearchPage({ id }: { id: string }) {
  const job = useJob(id);
  const { body, error } = job.snapshot;
  if (error !== undefined && body === undefined)
    return (
      <Frame>
        <ErrorState what="This research could not be opened." why={error.message} todo={error.advice} />
      </Frame>
    );
  return (
    <Frame>
      <JobHeader job={job} />
      <LostLine job={job} />
      <JobBody job={job} />
    </Frame>
  );
}

function Frame({ children }: { children: ReactNode }) {
  return <div className={PAGE}>{children}</div>;
}

/** Shown while the page reconnects to the service. */
function LostLine({ job: { stream, view, reconnect } }: { job: JobHandle }) {
  if (stream.name !== 'waiting' || view.isOver) return null;
  return (
    <p
      role="status"
      className="flex flex-wrap items-center gap-3 rounded-corner bg-waiting-wash px-4 py-2 text-14"
    >
      <Lamp state="waiting" word="Connecting again" />
      <span className="flex-1">
        The line to the service broke. The research goes on, and nothing is lost.
      </span>
      <Button size="small" onClick={reconnect}>
        Now
      </Button>
    </p>
  );
}

function JobBody({ job }: { job: JobHandle }) {
  const { view, snapshot, evidence } = job;
  const [tab, setTab] = useState('report');
  const sources = evidence.body?.sources ?? NO_SOURCES;
  const claims = evidence.body?.claims ?? NO_CLAIMS;
  if (snapshot.body === undefined) return <Skeleton rows={6} />;
  return (
    <Tabs
      label="Views of this research"
      value={tab}
      onChange={setTab}
      tabs={[
        { id: 'report', label: 'Report', content: <ReportTab job={job} sources={sources} claims={claims} /> },
        {
          id: 'sources',
          label: counted('Sources', sources.length),
          content: <SourcesTab sources={sources} />,
        },
        {
          id: 'evidence',
          label: counted('Evidence', claims.length),
          content: <EvidenceTab claims={claims} sources={sources} />,
        },
        { id: 'activity', label: 'Activity', content: <ActivityTab activity={view.activity} /> },
      ]}
    />
  );
}

function counted(label: string, count: number): ReactNode {
  if (count === 0) return label;
  return (
    <>
      {label} <span className="font-mono text-12 text-muted">{count}</span>
    </>
  );
}

interface ReportTabProps {
  job: JobHandle;
  sources: JobSource[];
  claims: Claim[];
}

function ReportTab({ job, sources, claims }: ReportTabProps) {
  const { view, snapshot } = job;
  const body = snapshot.body;
  const isRunning = !view.isOver && view.proposed === undefined;
  const isFailed = view.isOver && (body?.status === 'error' || body?.status === 'cancelled');
  const report = body?.report ?? view.report;
  const cited = useMemo(() => sources.filter(({ number }) => number !== null), [sources]);
  return (
    <div className="flex flex-col gap-6 pt-2">
      {body?.warnings
        // What ended the job is told there.
        .filter((words) => body.error?.includes(words) !== true)
        .map((words) => (
          <Warning key={words} words={words} />
        ))}
      {isFailed && body && <FailureCard job={job} snapshot={body} />}
      {view.proposed && body?.status === 'running' && <PlanCard job={job} proposed={view.proposed} />}
      {isRunning && <ProgressStrip view={view} snapshot={body} />}
      {report === '' && <DimensionCards dimensions={view.dimensions} running={isRunning} />}
      {report !== '' && (
        <ReportView report={report} claims={claims} sources={cited} streaming={!view.isOver} />
      )}
      {body?.report !== undefined && <FollowUps id={job.id} sources={sources} />}
      {report !== '' && <HowItWent job={job} isRunning={isRunning} />}
    </div>
  );
}

function Warning({ words }: { words: string }) {
  return (
    <p className="flex items-start gap-3 rounded-corner bg-waiting-wash px-4 py-2 text-14">
      <Lamp state="waiting" dotOnly className="mt-0.5" />
      <span className="min-w-0 break-words">{words}</span>
    </p>
  );
}

const STOP_WORDS: Record<string, string> = {
  'no-gaps': 'It stopped because no gaps were left.',
  passes: 'It stopped after three passes; some gaps may be left.',
  budget: 'It stopped because the budget was used up.',
  'no-new-sources': 'It stopped because the last pass found no new sources.',
};

function HowItWent({ job: { view }, isRunning }: { job: JobHandle; isRunning: boolean }) {
  return (
    <details className="group border-line border-t pt-4">
      <summary className="cursor-pointer py-2 font-medium text-14">How it was researched</summary>
      <p className="py-2 text-14 text-muted">{STOP_WORDS[view.stopReason ?? ''] ?? ''}</p>
      <DimensionCards dimensions={view.dimensions} running={isRunning} />
    </details>
  );
}

/** Which part failed and why, and the way on from there. */
function FailureCard({ job, snapshot }: { job: JobHandle; snapshot: JobSnapshot }) {
  const api = useApi();
  const { busy, run } = useAction('The research could not go on.');
  const goOn = () =>
    run(async () => {
      await api.request(`/api/research/deep/${job.id}/resume`, { body: {} });
      job.follow();
    });
  const action = (
    <Button variant="primary" icon={<Play aria-hidden />} busy={busy} onClick={goOn}>
      Go on from there
    </Button>
  );
  if (snapshot.status === 'cancelled') return <StoppedCard snapshot={snapshot} action={action} />;
  return (
    <ErrorState
      what={`The research failed while ${PARTS[snapshot.phase]}${openParts(snapshot)}.`}
      why={snapshot.error ?? 'The log of the service has the cause.'}
      todo="Mend that, then go on: what was done before is kept."
      action={action}
    />
  );
}

function StoppedCard({ snapshot, action }: { snapshot: JobSnapshot; action: ReactNode }) {
  return (
    <section
      aria-label="Stopped"
      className="flex flex-wrap items-center gap-4 rounded-corner border border-line bg-raised p-4"
    >
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-semibold text-14">
          You stopped this research while it was {PARTS[snapshot.phase]}.
        </p>
        <p className="text-14 text-muted">What was found so far is kept.</p>
      </div>
      {action}
    </section>
  );
}

/** The dimensions that were not finished, where the failure was in one. */
function openParts({ phase, plan }: JobSnapshot): string {
  if (phase !== 'research') return '';
  const open = plan.filter(({ state, troubles }) => state !== 'done' || troubles.length > 0);
  if (open.length > 1 && open.length === plan.length) return ` all of its ${plan.length} points`;
  return open.length === 0 ? '' : ` “${open.map(({ name }) => name).join('”, “')}”`;
}
