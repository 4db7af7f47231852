import { Keyboard, Search } from 'lucide-react';
import { IconButton } from '../components/IconButton.tsx';
import { ThemeToggle } from '../components/ThemeToggle.tsx';
import { OperatorButton } from '../operator/OperatorButton.tsx';
import { type Frame, shellServices } from './frame.ts';
import { Mark } from './Mark.tsx';
import { ServiceItem } from './ServiceItem.tsx';

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
