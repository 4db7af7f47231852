import { type ReactNode, useId } from 'react';
import { cn } from '../lib/cn.ts';

interface PanelProps {
  title: string;
  /** One sentence under the title. */
  detail?: ReactNode;
  /** At the right of the title: lamps, buttons. */
  actions?: ReactNode;
  /** The content brings its own padding, as lists and tables do. */
  flush?: boolean;
  className?: string;
  children: ReactNode;
}

/** A titled part of a page. */
export function Panel({ title, detail, actions, flush = false, className, children }: PanelProps) {
  const id = useId();
  return (
    <section
      aria-labelledby={id}
      className={cn(
        '@container min-w-0 overflow-hidden rounded-corner border border-line bg-raised',
        className,
      )}
    >
      <header className="flex min-h-13 flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2">
        <div className="min-w-0 flex-1">
          <h2 id={id} className="text-14">
            {title}
          </h2>
          {detail && <p className="text-12 text-muted">{detail}</p>}
        </div>
        {actions && <div className="flex items-center gap-2">{actions}</div>}
      </header>
      <div className={flush ? undefined : 'p-4'}>{children}</div>
    </section>
  );
}
