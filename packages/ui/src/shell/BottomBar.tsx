import { Ellipsis } from 'lucide-react';
import { useState } from 'react';
import { MoreSheet } from './MoreSheet.tsx';
import { type Frame, shellServices } from './PageFrame.tsx';
import { ServiceItem, WaitingPairings } from './Rail.tsx';

/** The rail of a phone, the same on every page: the services, and everything else under More. */
export function BottomBar(frame: Frame) {
  const [open, setOpen] = useState(false);
  return (
    <nav
      aria-label="Services"
      className="sticky bottom-0 z-30 h-(--bottom-bar) border-line border-t bg-sunken px-1 pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <ul className="grid grid-cols-5 gap-1 py-1">
        {shellServices(frame).map((service) => (
          <li key={service.name}>
            <ServiceItem service={service} className="h-14 w-full" />
          </li>
        ))}
        <li>
          <button
            type="button"
            onClick={() => setOpen(true)}
            className="flex h-14 w-full cursor-pointer flex-col items-center justify-center gap-1 rounded-corner text-12 text-muted"
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
