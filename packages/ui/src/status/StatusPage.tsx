import { BookOpen, HeartPulse, RefreshCw } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import type { Command } from '../components/CommandPalette.tsx';
import { Lamp } from '../components/Lamp.tsx';
import { cn } from '../lib/cn.ts';
import { AppShell } from '../shell/AppShell.tsx';
import { PAGE, type Place, type Section, type ShellService, shellServices } from '../shell/PageFrame.tsx';
import { SERVICES, type ServiceName } from '../shell/services.tsx';
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

/** The four services as jacks on one trunk line; a stretch between two live ones is lit. */
function Exchange(place: Place) {
  const services = shellServices(place);
  const alone = place.services !== undefined && services.every(({ url }) => url === undefined);
  return (
    <section aria-label="The four services" className="@container">
      <ol className="grid overflow-hidden rounded-corner border border-line bg-raised @2xl:grid-cols-4">
        {services.map((service, index) => (
          <Jack key={service.name} service={service} next={services[index + 1]} />
        ))}
      </ol>
      {alone && (
        <p className="mt-2 px-1 text-12 text-muted">
          This service runs alone. <code className="text-ink">npm start</code> runs all four together.
        </p>
      )}
    </section>
  );
}

function Jack({ service, next }: { service: ShellService; next: ShellService | undefined }) {
  const { title, brief, icon } = SERVICES[service.name];
  return (
    <li
      className={cn(
        'group relative flex items-center gap-4 p-4 @2xl:flex-col @2xl:items-start @2xl:gap-3 @2xl:p-5',
        service.url && 'transition-colors hover:bg-hover has-focus-visible:bg-hover',
      )}
    >
      {next && <Trunk lit={service.state === 'live' && next.state === 'live'} />}
      <Socket service={service}>{icon}</Socket>
      <div className="min-w-0 flex-1">
        <p className="font-semibold text-16">
          {service.url ? (
            <a
              href={service.url}
              className="after:absolute after:inset-0 focus-visible:after:-outline-offset-2"
            >
              {title}
            </a>
          ) : (
            title
          )}
        </p>
        <p className="text-12 text-muted">{brief}</p>
      </div>
      <Lamp state={service.state} word={service.current ? `${service.word}, you are here` : service.word} />
    </li>
  );
}

// The ring of a jack; filled where the cord is plugged in, that is, where you are.
function Socket({ service, children }: { service: ShellService; children: ReactNode }) {
  return (
    <span
      className={cn(
        'relative z-2 inline-flex size-11 shrink-0 items-center justify-center rounded-full border-2 [&_svg]:size-5',
        socketColours(service),
      )}
    >
      {children}
    </span>
  );
}

function socketColours({ current, url }: ShellService): string {
  if (current) return 'border-accent bg-accent text-accent-ink';
  if (url === undefined) return 'border-line bg-raised text-muted';
  return 'border-line-strong bg-raised text-ink transition-colors group-hover:border-edge';
}

// From the middle of this socket to that of the next: downwards in a column, across in a row.
function Trunk({ lit }: { lit: boolean }) {
  return (
    <span
      aria-hidden
      className={cn(
        'absolute top-1/2 left-9.25 z-1 h-full w-0.5 overflow-hidden',
        '@2xl:top-10.25 @2xl:left-10 @2xl:h-0.5 @2xl:w-full',
        lit ? 'bg-accent-strong' : 'bg-line',
      )}
    />
  );
}
