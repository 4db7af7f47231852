import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { useReturnFocus } from '../hooks/useReturnFocus.ts';
import { cn } from '../lib/cn.ts';
import { CloseButton } from './CloseButton.tsx';
import { veilClass } from './Dialog.tsx';

interface SheetProps {
  open: boolean;
  onClose(): void;
  title: string;
  children: ReactNode;
}

/** Comes in from the right; on a phone from below. */
export function Sheet({ open, onClose, title, children }: SheetProps) {
  const returnFocus = useReturnFocus();
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={veilClass} />
        <Radix.Content
          {...returnFocus}
          aria-describedby={undefined}
          className={cn(
            'fixed z-50 flex flex-col border-line bg-raised shadow-float',
            'inset-x-0 bottom-0 max-h-[85dvh] animate-enter-bottom rounded-t-corner border-t data-[state=closed]:animate-leave-bottom',
            'md:inset-y-0 md:right-0 md:left-auto md:max-h-none md:w-96 md:animate-enter-right md:rounded-none md:border-t-0 md:border-l md:data-[state=closed]:animate-leave-right',
          )}
        >
          <header className="flex items-center gap-2 border-line border-b py-2 pr-2 pl-4">
            <Radix.Title className="min-w-0 flex-1 truncate text-16">{title}</Radix.Title>
            <Radix.Close asChild>
              <CloseButton />
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto p-4 pb-[max(1rem,env(safe-area-inset-bottom))]">
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
