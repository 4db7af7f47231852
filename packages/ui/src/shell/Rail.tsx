import type { AccountsView } from '@trunkline/std';
import { Keyboard, LifeBuoy, Scale, Search } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { IconButton } from '../components/Button.tsx';
import { Badge, Lamp } from '../components/Lamp.tsx';
import { ThemeToggle } from '../components/ThemeToggle.tsx';
import { Tooltip } from '../components/Tooltip.tsx';
import { useResource } from '../hooks/useResource.ts';
import { cn } from '../lib/cn.ts';
import { OperatorButton, useOperator } from '../operator/OperatorProvider.tsx';
import { SETUP } from '../setup/SetupOffer.tsx';
import { type Frame, type ShellService, sectionGroups, shellServices } from './PageFrame.tsx';
import { Mark, SERVICES } from './services.tsx';

/** The slim rail at the left of a wide page. */
export function Rail(frame: Frame) {
  return (
    <header className="sticky top-0 hidden h-dvh w-22 shrink-0 flex-col items-center gap-6 overflow-y-auto border-line border-r bg-sunken py-4 md:flex">
      <span className="flex flex-col items-center gap-1">
        <Mark className="size-8 text-ink" />
        <span className="sr-only">Trunkline</span>
      </span>
      <nav aria-label="Services">
        <ul className="flex flex-col gap-1">
          {shellServices(frame).map((service) => (
            <li key={service.name}>
              <ServiceItem service={service} className="h-16 w-20" />
            </li>
          ))}
        </ul>
      </nav>
      <div className="mt-auto flex flex-col items-center gap-1">
        <SharedLink {...SETUP} hint="Models, speech, search, settings" />
        <SharedLink {...TRUST} hint="People, policy, audit">
          <WaitingPairings />
        </SharedLink>
        <IconButton label={HELP.label} icon={HELP.icon} side="right" onClick={openHelp} />
        <IconButton
          label="Command palette"
          icon={<Search aria-hidden />}
          side="right"
          onClick={frame.openPalette}
        />
        <IconButton
          label="Keyboard shortcuts"
          icon={<Keyboard aria-hidden />}
          side="right"
          onClick={frame.openShortcuts}
        />
        <OperatorButton />
        <ThemeToggle />
      </div>
    </header>
  );
}

/** Who may do what, on a page that all services share. */
export const TRUST = { label: 'Trust', href: '/trust', icon: <Scale aria-hidden /> };

/** The documentation, which every service serves. */
export const HELP = { label: 'Help', href: '/help', icon: <LifeBuoy aria-hidden /> };

export function openHelp(): void {
  window.location.assign(HELP.href);
}

interface SharedLinkProps {
  label: string;
  href: string;
  icon: ReactNode;
  hint: string;
  /** Behind the label. */
  children?: ReactNode;
}

/** A page that all services share, for whoever has an operator. */
function SharedLink({ label, href, icon, hint, children }: SharedLinkProps) {
  const { status } = useOperator();
  if (status.service === undefined) return null;
  return (
    <Tooltip text={hint} side="right">
      <a
        href={href}
        aria-current={window.location.pathname.startsWith(`${href}/`) ? 'page' : undefined}
        className="mb-1 flex h-14 w-20 flex-col items-center justify-center gap-1 rounded-corner border border-transparent text-12 text-muted transition-colors hover:bg-hover hover:text-ink aria-[current=page]:border-line aria-[current=page]:bg-raised aria-[current=page]:font-medium aria-[current=page]:text-ink [&_svg]:size-5"
      >
        {icon}
        <span className="flex items-center gap-1">
          {label}
          {children}
        </span>
      </a>
    </Tooltip>
  );
}

const PAIRINGS_MS = 60_000;

/** How many people ask to be paired, for the operator; nothing where nobody does. */
export function WaitingPairings() {
  const { status } = useOperator();
  const isOperator = status.service !== undefined && (status.name === 'signed-in' || status.name === 'open');
  return isOperator ? <PairingCount /> : null;
}

function PairingCount() {
  const { body } = useResource<Pick<AccountsView, 'pairings'>>('/operator/accounts/pairings', {
    refreshMs: PAIRINGS_MS,
  });
  const count = body?.pairings.length ?? 0;
  if (count === 0) return null;
  return (
    <Badge tone="accent">
      <span aria-hidden>{count}</span>
      <span className="sr-only">{`${count} ${count === 1 ? 'asks' : 'ask'} to be paired`}</span>
    </Badge>
  );
}

/** The sections of a page that has several, beside the rail. */
export function SectionList({ service, sections, currentSection }: Frame) {
  return (
    <nav
      aria-label="Sections"
      className="sticky top-0 hidden h-dvh w-48 shrink-0 flex-col overflow-y-auto border-line border-r p-3 md:flex"
    >
      <p className="px-3 pt-2 pb-3 font-semibold text-16">{SERVICES[service].title}</p>
      {sectionGroups(sections).map((group, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: groups never move, and some have no title
        <SectionGroup key={index} title={group.title}>
          {group.sections.map((section) => (
            <li key={section.id}>
              <a
                href={section.href}
                aria-current={section.id === currentSection ? 'page' : undefined}
                className={cn(
                  'flex h-8 items-center gap-3 rounded-corner px-3 text-muted transition-colors hover:bg-hover hover:text-ink [&_svg]:size-4',
                  'aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink',
                )}
              >
                {section.icon}
                {section.label}
              </a>
            </li>
          ))}
        </SectionGroup>
      ))}
    </nav>
  );
}

function SectionGroup({ title, children }: { title: string | undefined; children: ReactNode }) {
  return (
    <div className="pb-3">
      {title && <p className="px-3 pt-1 pb-1 font-medium text-12 text-muted">{title}</p>}
      <ul className="flex flex-col gap-0.5">{children}</ul>
    </div>
  );
}

/** The sections of a page on a phone: a strip along its top. */
export function SectionStrip({ sections, currentSection }: Frame) {
  const current = useRef<HTMLAnchorElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another section is another link
  useEffect(() => {
    const link = current.current;
    const strip = link?.closest('nav');
    // Not scrollIntoView, which would scroll the page too.
    if (link && strip) strip.scrollLeft = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
  }, [currentSection]);
  return (
    <nav
      aria-label="Sections"
      className="sticky top-0 z-20 h-(--section-bar) overflow-x-auto border-line border-b bg-paper [scrollbar-width:none] md:hidden"
    >
      <ul className="flex h-full px-1">
        {sections.map((section) => (
          <li key={section.id} className="h-full">
            <a
              ref={section.id === currentSection ? current : undefined}
              href={section.href}
              aria-current={section.id === currentSection ? 'page' : undefined}
              className="flex h-full items-center border-transparent border-b-2 px-3 whitespace-nowrap text-muted aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {section.label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** One service in the rail or the bottom bar: a link when it runs. */
export function ServiceItem({
  service,
  className,
}: {
  service: ShellService;
  className?: string | undefined;
}) {
  const { title, icon } = SERVICES[service.name];
  const content = (
    <>
      <span className="relative">
        <span className="block [&_svg]:size-5">{icon}</span>
        <Lamp
          state={service.state}
          word={service.word}
          dotOnly
          size="small"
          className="absolute -top-1.5 -right-3.5"
        />
      </span>
      {title}
    </>
  );
  const look = cn(
    'flex flex-col items-center justify-center gap-1 rounded-corner border text-12 transition-colors',
    service.current ? 'border-line bg-raised font-medium text-ink' : 'border-transparent text-muted',
    className,
  );
  if (service.current) {
    return (
      <span aria-current="page" className={look}>
        {content}
      </span>
    );
  }
  if (service.url === undefined) return <span className={look}>{content}</span>;
  return (
    <a href={service.url} className={cn(look, 'hover:bg-hover hover:text-ink')}>
      {content}
    </a>
  );
}
