import type { ReactNode } from 'react';
import { useHotkeys } from '../hooks/useHotkeys.ts';
import { useMediaQuery } from '../hooks/useMediaQuery.ts';
import { CloseButton } from './CloseButton.tsx';
import { Sheet } from './Sheet.tsx';

interface InspectorProps {
  open: boolean;
  onClose(): void;
  title: string;
  children: ReactNode;
}

/** Details of what is selected: a column at the right, or a sheet where there is no room for one. */
export function Inspector(props: InspectorProps) {
  const wide = useMediaQuery('(min-width: 64rem)');
  if (!wide) return <Sheet {...props} />;
  return props.open ? <Column {...props} /> : null;
}

function Column({ onClose, title, children }: InspectorProps) {
  useHotkeys([{ keys: 'escape', label: 'Close the inspector', run: onClose }]);
  return (
    <aside
      aria-label={title}
      className="sticky top-0 flex h-dvh w-96 shrink-0 animate-appear flex-col border-line border-l bg-raised"
    >
      <header className="flex items-center gap-2 border-line border-b py-2 pr-2 pl-4">
        <h2 className="min-w-0 flex-1 truncate text-16">{title}</h2>
        <CloseButton onClick={onClose} />
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
    </aside>
  );
}
