import { AlertDialog, Dialog as Radix } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';
import { type CustomFields, SchemaForm } from '../form/SchemaForm.tsx';
import type { FormValues, JsonSchema } from '../form/schema.ts';
import { useMediaQuery } from '../hooks/useTheme.ts';
import { cn } from '../lib/cn.ts';
import { useHotkeys } from '../lib/hotkey.ts';
import { Button, buttonClass, CloseButton } from './Button.tsx';

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
  return <div className="flex flex-wrap justify-end gap-2 p-6 pt-4 empty:pt-0">{children}</div>;
}

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

interface FormDialogProps {
  title: string;
  /** One sentence on what this is for. */
  detail?: string;
  schema: JsonSchema;
  fields?: CustomFields;
  /** What stands in the fields at first. */
  values?: FormValues | undefined;
  /** What the button does. */
  action?: string;
  onClose(): void;
  /** Gives whether it was accepted; then the dialog closes. */
  onSave(values: FormValues): Promise<boolean>;
  /** Tries the values out before they are saved, and shows the result itself. */
  onTest?: ((values: FormValues) => Promise<void>) | undefined;
}

/** Writes one thing, by a form over the page. */
export function FormDialog(props: FormDialogProps) {
  const { title, detail, schema, fields, values, action = 'Save', onClose, onSave, onTest } = props;
  const wish = useRef<'save' | 'test'>('save');
  const [busy, setBusy] = useState(false);
  const submit = async (given: FormValues) => {
    setBusy(true);
    if (wish.current === 'test') await onTest?.(given);
    else if (await onSave(given)) onClose();
    setBusy(false);
  };
  const wants = (next: 'save' | 'test') => () => {
    wish.current = next;
  };
  return (
    <Dialog open wide onClose={onClose} title={title} detail={detail}>
      <SchemaForm
        schema={schema}
        {...(fields && { fields })}
        {...(values && { values })}
        disabled={busy}
        onSubmit={(given) => void submit(given)}
        actions={
          <>
            <Button onClick={onClose}>Leave it</Button>
            {onTest && (
              <Button type="submit" busy={busy} onClick={wants('test')}>
                Test
              </Button>
            )}
            <Button type="submit" variant="primary" busy={busy} onClick={wants('save')}>
              {action}
            </Button>
          </>
        }
      />
    </Dialog>
  );
}

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

/** Details of what is selected: a column at the right, or a sheet where there is no room for one. */
export function Inspector(props: SheetProps) {
  const wide = useMediaQuery('(min-width: 64rem)');
  if (!wide) return <Sheet {...props} />;
  return props.open ? <Column {...props} /> : null;
}

function Column({ onClose, title, children }: SheetProps) {
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

interface ReturnFocus {
  onOpenAutoFocus(): void;
  onCloseAutoFocus(event: Event): void;
}

/** For what opens over the page: gives the focus back to where it was, or to the content when that is gone. */
export function useReturnFocus(): ReturnFocus {
  const opener = useRef<Element | null>(null);
  return {
    onOpenAutoFocus() {
      opener.current = document.activeElement;
    },
    onCloseAutoFocus(event) {
      event.preventDefault();
      const target = opener.current?.isConnected ? opener.current : document.getElementById('content');
      if (target instanceof HTMLElement) target.focus();
    },
  };
}
