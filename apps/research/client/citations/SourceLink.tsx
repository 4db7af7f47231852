import type { ReactNode } from 'react';
import { useFileAt } from '../files/FileViewer.tsx';

interface SourceLinkProps {
  url: string;
  /** What of a file is shown first. */
  passage?: string | undefined;
  className: string;
  children: ReactNode;
}

/** Leads to a source: a page opens beside this one, a file over it; what cannot be opened is words alone. */
export function SourceLink({ url, passage, className, children }: SourceLinkProps) {
  const openFile = useFileAt(url);
  if (/^https?:/.test(url)) {
    return (
      <a href={url} target="_blank" rel="noopener noreferrer" className={className}>
        {children}
      </a>
    );
  }
  if (openFile === undefined) return children;
  return (
    <button
      type="button"
      onClick={() => openFile(passage)}
      className={`cursor-pointer text-left ${className}`}
    >
      {children}
    </button>
  );
}
