import type { ReactNode } from 'react';
import { cn } from '../lib/cn.ts';

interface LineProps {
  title: ReactNode;
  /** A second row of smaller words. */
  detail?: ReactNode;
  /** Before the title: a lamp or an icon. */
  lead?: ReactNode;
  /** At the end: a value, a time, buttons. */
  trail?: ReactNode;
  /** Something flows here now. */
  lit?: boolean;
  /** The one that is open in the inspector. */
  selected?: boolean;
  /** Makes the title a link over the whole row. */
  href?: string | undefined;
  /** Makes the title a button over the whole row. */
  onOpen?: (() => void) | undefined;
}

/** A row that can light up. Stands in a list: <ul> of lines. */
export function Line({ title, detail, lead, trail, lit = false, selected = false, href, onOpen }: LineProps) {
  const opens = href !== undefined || onOpen !== undefined;
  return (
    <li
      data-lit={lit || undefined}
      className={cn(
        'relative flex min-h-12 items-center gap-3 border-line border-b px-4 py-2 last:border-b-0',
        ground(lit, selected),
        opens && !lit && 'transition-colors hover:bg-hover has-focus-visible:bg-hover',
      )}
    >
      <Wire lit={lit} selected={selected} />
      {lead && <span className="flex shrink-0 items-center text-muted [&_svg]:size-4">{lead}</span>}
      <div className="min-w-0 flex-1">
        <div className="truncate font-medium">
          <Opener href={href} onOpen={onOpen} selected={selected}>
            {title}
          </Opener>
        </div>
        {detail && <div className="text-12 text-muted">{detail}</div>}
      </div>
      {trail && <div className="relative flex shrink-0 items-center gap-2 text-12 text-muted">{trail}</div>}
    </li>
  );
}

function ground(lit: boolean, selected: boolean): string | false {
  if (lit) return 'bg-accent-wash';
  return selected && 'bg-hover';
}

// The wire at the left edge; a pulse runs down it while the line is lit.
function Wire({ lit, selected }: { lit: boolean; selected: boolean }) {
  if (!lit && !selected) return null;
  return (
    <span aria-hidden className="absolute inset-y-0 left-0 w-0.5 overflow-hidden bg-accent/40">
      {lit ? (
        <span className="block h-1/2 w-full animate-flow-down bg-accent-strong" />
      ) : (
        <span className="block h-full bg-accent-strong" />
      )}
    </span>
  );
}

type OpenerProps = Pick<LineProps, 'href' | 'onOpen' | 'selected'> & { children: ReactNode };

function Opener({ href, onOpen, selected, children }: OpenerProps) {
  const cover = 'cursor-pointer text-left after:absolute after:inset-0';
  if (href !== undefined) {
    return (
      <a href={href} className={cover} aria-current={selected ? 'true' : undefined}>
        {children}
      </a>
    );
  }
  if (onOpen === undefined) return children;
  return (
    <button type="button" onClick={onOpen} className={cover} aria-current={selected ? 'true' : undefined}>
      {children}
    </button>
  );
}
