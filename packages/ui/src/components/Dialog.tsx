import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { useReturnFocus } from '../hooks/useReturnFocus.ts';
import { cn } from '../lib/cn.ts';
import { CloseButton } from './CloseButton.tsx';

interface DialogProps {
  open: boolean;
  onClose(): void;
  title: string;
  /** One sentence on what this is for. */
  detail?: ReactNode;
  /** Buttons at the bottom, the one that acts last. */
  actions?: ReactNode;
  children?: ReactNode;
  /** For forms and text of some length. */
  wide?: boolean;
}

export const veilClass = 'fixed inset-0 z-40 bg-veil animate-appear data-[state=closed]:animate-vanish';

export const dialogClass = cn(
  'fixed top-1/2 left-1/2 z-50 flex max-h-[85dvh] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col',
  'rounded-corner border border-line bg-raised shadow-float animate-appear data-[state=closed]:animate-vanish',
);

/** A question or a form over the page; the page behind waits. */
export function Dialog({ open, onClose, title, detail, actions, children, wide = false }: DialogProps) {
  const returnFocus = useReturnFocus();
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={veilClass} />
        <Radix.Content
          {...returnFocus}
          className={cn(dialogClass, wide ? 'max-w-2xl' : 'max-w-md')}
          {...(detail ? {} : { 'aria-describedby': undefined })}
        >
          <header className="px-6 pt-6 pr-14">
            <Radix.Title className="text-20">{title}</Radix.Title>
            {detail && <Radix.Description className="mt-1 text-14 text-muted">{detail}</Radix.Description>}
          </header>
          {children && <div className="min-h-0 overflow-y-auto px-6 pt-4 pb-1">{children}</div>}
          <DialogActions>{actions}</DialogActions>
          {/* Last in the order, so that the first field gets the focus. */}
          <Radix.Close asChild>
            <CloseButton className="absolute top-4 right-3" />
          </Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Buttons at the end of a dialog; space alone when there are none. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <footer className="flex flex-wrap justify-end gap-2 p-6 pt-4 empty:pt-0">{children}</footer>;
}
