import {
  Button,
  CopyButton,
  countOf,
  dollars,
  duration,
  ErrorState,
  hashRoute,
  Lamp,
  Panel,
  RelativeTime,
  stateLamp,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { RotateCcw } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Answer, Flow, FlowDetails, SkillUsage } from '../../../api-types.ts';
import { BackLink, Loaded } from '../../shared/blocks.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { MessageList, useFeed } from '../feed/MessageRow.tsx';
import { Timeline } from './Timeline.tsx';

export function FlowPage({ id }: { id: string }) {
  const path = `/api/flows/${encodeURIComponent(id)}`;
  const resource = useResource<Answer<FlowDetails>>(path);
  useReloadOn(['flow.item.#', 'agent.input.#', 'agent.skill.#'], resource.reload);
  const flow = resource.body?.data;
  return (
    <Frame
      title={flow ? titleOf(flow) : 'Flow'}
      intro={<BackLink to={['flows']}>All flows</BackLink>}
      actions={flow && <Replay path={path} />}
    >
      <Loaded resource={resource} what="The flow" rows={8}>
        {(loaded) => <Whole flow={loaded} />}
      </Loaded>
    </Frame>
  );
}

function Replay({ path }: { path: string }) {
  const api = useApi();
  const attempt = useAttempt();
  const replay = () =>
    void attempt(
      async () => {
        const { data } = await api.request<Answer<{ id: string }>>(`${path}/replay`, { method: 'POST' });
        window.location.hash = hashRoute('flows', data.id);
      },
      { title: 'Sent again.', detail: 'This is the new flow.' },
    );
  return (
    <Button variant="primary" icon={<RotateCcw aria-hidden />} onClick={replay}>
      Replay
    </Button>
  );
}

function Whole({ flow }: { flow: FlowDetails }) {
  const lamp = lampOf(flow);
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Lamp {...lamp} />
        {flow.requestPreview !== null && (
          <span className="min-w-0 break-words text-muted">{workOf(flow)}</span>
        )}
      </p>
      {flow.errorPreview && (
        <ErrorState
          what="It failed."
          why={flow.errorPreview}
          todo="Fix the cause, then replay it. Routes shows where a message would go."
        />
      )}
      <NotApproved flow={flow} />
      <div className="grid items-start gap-4 lg:grid-cols-[2fr_3fr]">
        <div className="flex min-w-0 flex-col gap-4">
          <Why flow={flow} />
          <Panel title="Usage">
            <TimeBar flow={flow} />
            <Facts facts={factsOf(flow)} />
          </Panel>
        </div>
        <Panel title="Step by step" flush>
          <Timeline flow={flow} />
        </Panel>
      </div>
      <FlowMessages correlationId={flow.correlationId} />
    </>
  );
}

/** The agent has answered, and what it wanted to do was not done. */
function NotApproved({ flow: { status, approval } }: { flow: Flow }) {
  if (status !== 'complete' || !approval) return null;
  const words =
    approval === 'denied'
      ? 'Somebody denied what the agent asked to do, so it was not done.'
      : 'Nobody answered in time whether the agent may do it, so it was not done.';
  return (
    <p>
      {words} Its question is below, step by step. Replay asks again, and the question stands under{' '}
      <a className="text-accent-text underline underline-offset-2" href={hashRoute('questions')}>
        Questions
      </a>
      .
    </p>
  );
}

function FlowMessages({ correlationId }: { correlationId: string }) {
  const { list } = useFeed({ topic: '', correlationId });
  return (
    <MessageList
      title="Messages"
      detail="Of the same correlation, the newest first."
      list={list}
      empty={['No messages are left', 'The journal keeps them for seven days.']}
    />
  );
}

interface Routing {
  rule?: string;
  why?: string;
  topic?: string;
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
    [
      'Tokens',
      usage
        ? `${usage.estimated ? '≈ ' : ''}${countOf(usage.inputTokens)} in, ${countOf(usage.outputTokens)} out`
        : 'not known',
    ],
    ['Cost', usage?.costUsd === undefined ? 'not known' : dollars(usage.costUsd)],
    ['Agent', flow.targetAgent ?? 'none'],
    ['Runs as', flow.executorType ?? 'not begun'],
    ['Began', <RelativeTime key="began" at={createdAt} />],
    [
      'Correlation',
      <span key="correlation" className="flex min-w-0 items-center">
        <span className="truncate">{correlationId}</span>
        <CopyButton value={correlationId} label="Copy the correlation id" />
      </span>,
    ],
  ];
}

// Time in queue and at work, to scale.
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

export function lampOf({ status, stage, approval }: Flow): ReturnType<typeof stateLamp> {
  if (status === 'blocked') return stateLamp('asks', 'Asks');
  if (stage === 'error') return stateLamp('failed');
  if (stage === 'done' && approval !== null)
    return approval === 'denied' ? stateLamp('skipped', 'Not approved') : stateLamp('missed', 'Not answered');
  if (stage === 'done') return stateLamp('done');
  return stage === 'running' ? stateLamp('working', 'Works') : stateLamp('queued');
}

export function workOf({ skill, targetAgent }: Flow): string {
  return `${skill || 'no skill'}${targetAgent === null ? '' : ` by ${targetAgent}`}`;
}

/** The request's text, else its skill. */
export function titleOf(flow: Flow): string {
  return flow.requestPreview ?? workOf(flow);
}
