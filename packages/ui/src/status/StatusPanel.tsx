import { ArrowUpRight, BookOpen, Check, ChevronRight, HeartPulse, RefreshCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button, CopyButton, IconButton } from '../components/Button.tsx';
import { ErrorState, Skeleton } from '../components/EmptyState.tsx';
import { Badge, Line } from '../components/Lamp.tsx';
import { Panel } from '../components/Panel.tsx';
import { RelativeTime } from '../components/RelativeTime.tsx';
import { SETUP } from '../setup/SetupOffer.tsx';
import {
  type Fact,
  type Health,
  type HealthModel,
  type HealthResource,
  labelFor,
  type MissingPart,
  splitFacts,
} from './health.ts';
import { PostureLine } from './PostureLine.tsx';

interface StatusPanelProps {
  resource: HealthResource;
  labels: Readonly<Record<string, string>>;
}

/** What the service says about itself, kept up to date. */
export function StatusPanel({ resource, labels }: StatusPanelProps) {
  const { health, error, loadedAt, reload } = resource;
  return (
    <Panel
      title="Status"
      flush={health !== undefined}
      actions={
        <>
          {loadedAt !== undefined && (
            <span className="text-12 text-muted">
              Checked <RelativeTime at={loadedAt} />
            </span>
          )}
          <IconButton
            label="Check again"
            icon={<RefreshCw aria-hidden />}
            onClick={reload}
            className="-mr-2"
          />
        </>
      }
    >
      {error && (
        <ErrorState
          what="The status could not be read."
          why={error.message}
          todo={error.advice}
          action={
            <Button size="small" onClick={reload}>
              Check again
            </Button>
          }
        />
      )}
      {health && <Facts health={health} labels={labels} />}
      <div className="border-line border-t empty:hidden">
        <PostureLine />
      </div>
      {!health && !error && <Skeleton rows={4} />}
    </Panel>
  );
}

function Facts({ health, labels }: { health: Health; labels: StatusPanelProps['labels'] }) {
  const { named, others } = splitFacts(health.facts, labels);
  if (!health.model && named.length + others.length === 0) {
    return <p className="p-4 text-muted">The service answers and has nothing more to tell.</p>;
  }
  return (
    <>
      <dl>
        {health.model && <ModelRow model={health.model} />}
        {named.map((fact) => (
          <FactRow key={fact.key} fact={fact} labels={labels} />
        ))}
      </dl>
      {others.length > 0 && <OtherFacts facts={others} labels={labels} />}
    </>
  );
}

// The fields that only matter when one looks for something in particular.
function OtherFacts({ facts, labels }: { facts: Fact[]; labels: StatusPanelProps['labels'] }) {
  return (
    <details className="group border-line not-first:border-t">
      <summary className="flex h-10 cursor-pointer list-none items-center gap-2 px-4 text-muted transition-colors hover:bg-hover hover:text-ink focus-visible:-outline-offset-2">
        <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
        {facts.length === 1 ? '1 more field' : `${facts.length} more fields`}
      </summary>
      <dl className="border-line border-t">
        {facts.map((fact) => (
          <FactRow key={fact.key} fact={fact} labels={labels} />
        ))}
      </dl>
    </details>
  );
}

function FactRow({ fact, labels }: { fact: Fact; labels: StatusPanelProps['labels'] }) {
  return <Row label={labelFor(fact.key, labels)}>{fact.value}</Row>;
}

function ModelRow({ model }: { model: HealthModel }) {
  return (
    <Row label="Model">
      <span className="inline-flex flex-wrap items-center justify-end gap-2">
        {model.name}
        <ModelBadge model={model} />
      </span>
      {model.url && <span className="block text-muted">{model.url}</span>}
    </Row>
  );
}

function Row({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-6 border-line border-b px-4 py-2.5 last:border-b-0">
      <dt className="shrink-0 text-14 text-muted">{label}</dt>
      <dd className="min-w-0 text-right font-mono text-12 break-words">{children}</dd>
    </div>
  );
}

/** Whether a real model answers. */
export function ModelBadge({
  model: { demo, problem },
}: {
  model: Pick<HealthModel, 'demo'> & Partial<HealthModel>;
}) {
  if (problem !== undefined) return <Badge tone="failed">Cannot be used</Badge>;
  return demo ? <Badge tone="accent">Offline demo</Badge> : <Badge tone="live">Real model</Badge>;
}

/** For a first page: says that the demo model answers, while no other is set up. */
export function DemoNote({ health }: { health: Pick<Health, 'model'> | undefined }) {
  if (!health?.model?.demo) return null;
  return (
    <p className="text-14 text-muted text-balance">
      <ModelBadge model={health.model} /> A small demo model answers.{' '}
      <a href={`${SETUP.href}/model`} className="text-accent-text underline underline-offset-2">
        Set up a real model
      </a>
    </p>
  );
}

/** What to set for full function, variable by variable. */
export function MissingPanel({
  missing,
  problem,
}: {
  missing: readonly MissingPart[];
  problem: string | undefined;
}) {
  if (problem !== undefined)
    return (
      <Panel title="The model cannot be used">
        <p className="text-14 break-words">{problem}</p>
        <a href={`${SETUP.href}/model`} className="text-14 text-accent-text underline underline-offset-2">
          Set up the model
        </a>
      </Panel>
    );
  if (missing.length === 0) {
    return (
      <Panel title="Setup">
        <p className="flex items-center gap-2 text-14">
          <Check aria-hidden className="size-4 text-live-text" />
          Nothing is missing.
        </p>
      </Panel>
    );
  }
  return (
    <Panel title="For full function" detail="It works without these; each one adds something." flush>
      <ul>
        {missing.map((part) => (
          <li
            key={`${part.what} ${part.variable}`}
            className="border-line border-b px-4 py-3 last:border-b-0"
          >
            <p className="font-medium text-14">{part.what}</p>
            {part.hint && <p className="text-12 text-muted">{part.hint}</p>}
            {part.variable && <Variable name={part.variable} />}
          </li>
        ))}
      </ul>
      <p className="border-line border-t px-4 py-3 text-14">
        <a href={SETUP.href} className="text-accent-text underline underline-offset-2">
          Open the setup
        </a>
      </p>
    </Panel>
  );
}

function Variable({ name }: { name: string }) {
  return (
    <p className="mt-2 flex items-center justify-between gap-2 rounded-small bg-sunken pl-2">
      <code className="min-w-0 truncate text-12">{name}</code>
      <CopyButton value={name} label="Copy the variable" />
    </p>
  );
}

/** Where programs find the service. */
export function ReferencePanel() {
  const arrow = <ArrowUpRight aria-hidden className="size-4" />;
  return (
    <Panel title="For programs" flush>
      <ul>
        <Line
          lead={<BookOpen aria-hidden />}
          title="API documentation"
          detail="Every route and what it takes"
          href="/docs"
          trail={arrow}
        />
        <Line
          lead={<HeartPulse aria-hidden />}
          title="Raw status"
          detail={<code>/healthz</code>}
          href="/healthz"
          trail={arrow}
        />
      </ul>
    </Panel>
  );
}
