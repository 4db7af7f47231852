import { CopyButton, countOf, dollars, duration, Panel, RelativeTime } from '@trunkline/ui';
import type { ReactNode } from 'react';
import type { FlowDetails, SkillUsage } from '../../../api-types.ts';

interface Routing {
  rule?: string;
  why?: string;
  topic?: string;
}

/** What decided where it went, and what it took. */
export function FlowFacts({ flow }: { flow: FlowDetails }) {
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Why flow={flow} />
      <Panel title="What it took">
        <TimeBar flow={flow} />
        <Facts facts={factsOf(flow)} />
      </Panel>
    </div>
  );
}

function Why({ flow }: { flow: FlowDetails }) {
  const routing = detailsOf(flow, 'request').routing as Routing | undefined;
  return (
    <Panel title="Why it went there">
      <p className="break-words first-letter:uppercase">
        {routing?.why ?? 'The request named the skill itself; the router was not asked.'}
      </p>
      {routing && (
        <Facts
          facts={[
            ['Rule', routing.rule ?? 'none'],
            ['Came on', routing.topic ?? 'not known'],
          ]}
        />
      )}
    </Panel>
  );
}

function factsOf(flow: FlowDetails): [string, ReactNode][] {
  const usage = detailsOf(flow, 'end').usage as SkillUsage | undefined;
  const { startedAt, createdAt, durationMs, correlationId } = flow;
  return [
    ['Queue', startedAt === null ? 'not begun' : duration(startedAt - createdAt)],
    ['Execute', durationMs === null ? 'goes on' : duration(durationMs)],
    ['Tokens', usage ? `${countOf(usage.inputTokens)} in, ${countOf(usage.outputTokens)} out` : 'not known'],
    ['Cost', usage?.costUsd === undefined ? 'not known' : dollars(usage.costUsd)],
    ['Agent', flow.targetAgent ?? 'none'],
    ['Runs as', flow.executorType ?? 'not begun'],
    ['Began', <RelativeTime key="began" at={createdAt} />],
    [
      'Correlation',
      <span key="correlation" className="flex min-w-0 items-center">
        <span className="truncate">{correlationId}</span>
        <CopyButton value={correlationId} label="Copy the correlation" />
      </span>,
    ],
  ];
}

// Waiting and working side by side, as long as they took.
function TimeBar({ flow: { createdAt, startedAt, completedAt } }: { flow: FlowDetails }) {
  if (startedAt === null || completedAt === null || completedAt <= createdAt) return null;
  const waited = ((startedAt - createdAt) / (completedAt - createdAt)) * 100;
  return (
    <svg
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Waited ${duration(startedAt - createdAt)}, worked ${duration(completedAt - startedAt)}`}
      className="mb-3 h-2 w-full rounded-small"
    >
      <rect width="100" height="6" className="fill-accent" />
      <rect width={waited} height="6" className="fill-idle" />
    </svg>
  );
}

function Facts({ facts }: { facts: readonly [string, ReactNode][] }) {
  return (
    <dl className="mt-2 flex flex-col gap-1 text-12">
      {facts.map(([name, value]) => (
        <div key={name} className="flex min-h-6 items-center justify-between gap-4">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 truncate font-mono">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function detailsOf({ trace }: FlowDetails, event: string): Record<string, unknown> {
  return trace.findLast((entry) => entry.event === event)?.details ?? {};
}
