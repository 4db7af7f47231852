import type { ReactNode } from 'react';
import { Lamp } from '../components/Lamp.tsx';
import { cn } from '../lib/cn.ts';
import { type Place, type ShellService, shellServices } from '../shell/PageFrame.tsx';
import { SERVICES } from '../shell/services.tsx';

/** The four services as jacks on one trunk line; a stretch between two live ones is lit. */
export function Exchange(place: Place) {
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
