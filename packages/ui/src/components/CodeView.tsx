import { cn } from '../lib/cn.ts';
import { CopyButton } from './Button.tsx';

interface CodeViewProps {
  code: string;
  /** The language or file name, shown above. */
  title?: string;
  /** Breaks long lines instead of scrolling. */
  wrap?: boolean;
}

/** Code, JSON or a log, to read and copy. */
export function CodeView({ code, title, wrap = false }: CodeViewProps) {
  return (
    <figure className="min-w-0 overflow-hidden rounded-corner border border-line bg-sunken">
      <figcaption className="flex h-9 items-center justify-between gap-2 border-line border-b pr-1 pl-4 font-mono text-12 text-muted">
        {title ?? 'text'}
        <CopyButton value={code} label="Copy the code" />
      </figcaption>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
        tabIndex={0}
        className={cn(
          'overflow-x-auto p-4 text-12 leading-5 focus-visible:-outline-offset-2',
          wrap && 'whitespace-pre-wrap break-words',
        )}
      >
        <code>{code}</code>
      </pre>
    </figure>
  );
}
