import { AlertDialog } from 'radix-ui';
import type { ReactNode } from 'react';
import { useReturnFocus } from '../hooks/useReturnFocus.ts';
import { buttonClass } from './Button.tsx';
import { DialogActions, dialogClass, veilClass } from './Dialog.tsx';

interface ConfirmDialogProps {
  open: boolean;
  /** The question, naming the thing: "Delete the schedule morning-brief?" */
  title: string;
  /** What will be lost. */
  detail: ReactNode;
  /** What the button does, as a verb: "Delete". */
  action: string;
  onConfirm(): void;
  onCancel(): void;
}

/** Asks before something that cannot be undone. What can be undone gets a toast with undo instead. */
export function ConfirmDialog({ open, title, detail, action, onConfirm, onCancel }: ConfirmDialogProps) {
  const returnFocus = useReturnFocus();
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && onCancel()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={veilClass} />
        <AlertDialog.Content {...returnFocus} className={`${dialogClass} max-w-md`}>
          <div className="px-6 pt-6">
            <AlertDialog.Title className="text-20">{title}</AlertDialog.Title>
            <AlertDialog.Description className="mt-2 text-14 text-muted">{detail}</AlertDialog.Description>
          </div>
          <DialogActions>
            <AlertDialog.Cancel className={buttonClass({ variant: 'secondary' })}>Keep it</AlertDialog.Cancel>
            <AlertDialog.Action className={buttonClass({ variant: 'danger' })} onClick={onConfirm}>
              {action}
            </AlertDialog.Action>
          </DialogActions>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
