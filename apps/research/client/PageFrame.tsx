import { PAGE } from '@trunkline/ui';
import type { ReactNode } from 'react';

interface PageFrameProps {
  title: string;
  detail: string;
  children: ReactNode;
}

/** A section of the page with its heading. */
export function PageFrame({ title, detail, children }: PageFrameProps) {
  return (
    <div className={PAGE}>
      <header className="flex flex-col gap-1">
        <h1 className="text-28">{title}</h1>
        <p className="max-w-reading text-muted">{detail}</p>
      </header>
      {children}
    </div>
  );
}
