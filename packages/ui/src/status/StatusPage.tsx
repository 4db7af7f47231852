import { BookOpen, HeartPulse, RefreshCw } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import type { Command } from '../components/CommandPalette.tsx';
import { Lamp } from '../components/Lamp.tsx';
import { AppShell } from '../shell/AppShell.tsx';
import { PAGE, type Section } from '../shell/PageFrame.tsx';
import { SERVICES, type ServiceName } from '../shell/services.tsx';
import { Exchange } from './Exchange.tsx';
import { type HealthResource, useHealth } from './health.ts';
import { MissingPanel, ReferencePanel, StatusPanel } from './StatusPanel.tsx';

interface StatusPageProps {
  service: ServiceName;
  /** What the fields of /healthz are called on the page, in the order to show them. */
  labels: Readonly<Record<string, string>>;
  /** Where else the service has pages; this one is the section "status". */
  sections?: readonly Section[];
}

/** A service's first page: what it is for, how it is, what it lacks, and where its neighbours are. */
export function StatusPage({ service, labels, sections = [] }: StatusPageProps) {
  const resource = useHealth();
  const missing = resource.health?.missing;
  // A list of missing parts is long: what else there is goes below the status, to even the columns.
  const lacksParts = missing !== undefined && missing.length > 0;
  const place = { service, services: resource.health?.services, ...lampOf(resource) };
  return (
    <AppShell
      service={service}
      state={place.state}
      services={place.services}
      sections={sections}
      currentSection="status"
      commands={useCommands(resource.reload)}
    >
      <div className={PAGE}>
        <Heading service={service} {...lampOf(resource)} />
        <Exchange service={service} state={place.state} services={place.services} />
        <div className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
          <Column>
            <StatusPanel resource={resource} labels={labels} />
            {lacksParts && <ReferencePanel />}
          </Column>
          <Column>
            {missing && <MissingPanel missing={missing} problem={resource.health?.model?.problem} />}
            {!lacksParts && <ReferencePanel />}
          </Column>
        </div>
      </div>
    </AppShell>
  );
}

function Column({ children }: { children: ReactNode }) {
  return <div className="flex min-w-0 flex-col gap-4">{children}</div>;
}

function Heading({ service, state, word }: { service: ServiceName } & ReturnType<typeof lampOf>) {
  const { title, purpose } = SERVICES[service];
  return (
    <header className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h1 className="text-40 tracking-tight">{title}</h1>
        <Lamp state={state} word={word} />
      </div>
      <p className="max-w-reading text-16 text-balance text-muted">{purpose}</p>
    </header>
  );
}

function lampOf({ health, error }: HealthResource) {
  if (error !== undefined) return { state: 'failed', word: 'Not reached' } as const;
  if (health === undefined) return { state: 'waiting', word: 'Asking' } as const;
  return { state: health.state, word: health.word };
}

function useCommands(reload: () => void): Command[] {
  return useMemo(
    () => [
      {
        id: 'reload',
        label: 'Check the status again',
        group: 'This service',
        icon: <RefreshCw aria-hidden />,
        run: reload,
      },
      {
        id: 'docs',
        label: 'Open the API documentation',
        group: 'This service',
        icon: <BookOpen aria-hidden />,
        keywords: ['openapi', 'reference'],
        run: () => window.location.assign('/docs'),
      },
      {
        id: 'healthz',
        label: 'Open the raw status',
        group: 'This service',
        icon: <HeartPulse aria-hidden />,
        keywords: ['healthz', 'json'],
        run: () => window.location.assign('/healthz'),
      },
    ],
    [reload],
  );
}
