import { ChevronRight, RefreshCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../components/Button.tsx';
import { ErrorState } from '../components/ErrorState.tsx';
import { IconButton } from '../components/IconButton.tsx';
import { Panel } from '../components/Panel.tsx';
import { RelativeTime } from '../components/RelativeTime.tsx';
import { Skeleton } from '../components/Skeleton.tsx';
import type { Fact, Health, HealthModel } from './health.ts';
import { labelFor, splitFacts } from './labels.ts';
import { ModelBadge } from './ModelNote.tsx';
import type { HealthResource } from './useHealth.ts';

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
