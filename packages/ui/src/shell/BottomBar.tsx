import { Ellipsis } from 'lucide-react';
import { useState } from 'react';
import { cn } from '../lib/cn.ts';
import { MoreSheet } from './MoreSheet.tsx';
import { type Frame, shellServices } from './PageFrame.tsx';
import { ServiceItem, WaitingPairings } from './Rail.tsx';

const PLACES = 4;
const ITEM = 'flex h-14 w-full flex-col items-center justify-center gap-1 rounded-corner text-12';

/** The rail of a phone: the sections of the page, or the services when it has but one; the rest under More. */
export function BottomBar(frame: Frame) {
  const [open, setOpen] = useState(false);
  const hasSections = frame.sections.length > 1;
  const isUnderMore = frame.sections.findIndex(({ id }) => id === frame.currentSection) >= PLACES;
  return (
    <nav
      aria-label={hasSections ? 'Sections' : 'Services'}
      className="sticky bottom-0 z-30 h-(--bottom-bar) border-line border-t bg-sunken px-1 pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <ul className="grid grid-cols-5 gap-1 py-1">
        {hasSections ? <Sections {...frame} /> : <Services {...frame} />}
        <li>
          <button
            type="button"
            onClick={() => setOpen(true)}
            aria-current={isUnderMore ? 'true' : undefined}
            className={cn(
              ITEM,
              'cursor-pointer text-muted aria-[current=true]:bg-raised aria-[current=true]:font-medium aria-[current=true]:text-ink',
            )}
          >
            <Ellipsis aria-hidden className="size-5" />
            <span className="flex items-center gap-1">
              More
              <WaitingPairings />
            </span>
          </button>
        </li>
      </ul>
      <MoreSheet open={open} onClose={() => setOpen(false)} frame={frame} />
    </nav>
  );
}

function Services(frame: Frame) {
  return shellServices(frame).map((service) => (
    <li key={service.name}>
      <ServiceItem service={service} className="h-14 w-full" />
    </li>
  ));
}

function Sections({ sections, currentSection }: Frame) {
  return sections.slice(0, PLACES).map((section) => (
    <li key={section.id}>
      <a
        href={section.href}
        aria-current={section.id === currentSection ? 'page' : undefined}
        className={cn(
          ITEM,
          'text-muted aria-[current=page]:bg-raised aria-[current=page]:font-medium aria-[current=page]:text-ink [&_svg]:size-5',
        )}
      >
        {section.icon}
        <span className="max-w-full truncate">{section.label}</span>
      </a>
    </li>
  ));
}
