import { Search, Telescope } from 'lucide-react';
import { type ReactNode, useId } from 'react';

export type Mode = 'search' | 'research';

const MODES: readonly { id: Mode; label: string; icon: ReactNode; title: string }[] = [
  {
    id: 'search',
    label: 'Search',
    icon: <Search aria-hidden />,
    title: 'An answer with sources, in seconds',
  },
  {
    id: 'research',
    label: 'Research',
    icon: <Telescope aria-hidden />,
    title: 'A checked report, in minutes',
  },
];

/** Search or research, as a pair of radio buttons. */
export function ModeChoice({ mode, onMode }: { mode: Mode; onMode(mode: Mode): void }) {
  const name = useId();
  return (
    <fieldset className="flex rounded-corner bg-sunken p-0.5">
      <legend className="sr-only">What to do with it</legend>
      {MODES.map(({ id, label, icon, title }) => (
        <label
          key={id}
          title={title}
          className="flex h-8 cursor-pointer items-center gap-2 rounded-[6px] px-3 font-medium text-14 text-muted transition-colors hover:text-ink has-checked:bg-raised has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-focus pointer-coarse:h-10 [&_svg]:size-4"
        >
          <input
            type="radio"
            name={name}
            checked={mode === id}
            onChange={() => onMode(id)}
            className="sr-only"
          />
          {icon}
          {label}
        </label>
      ))}
    </fieldset>
  );
}
