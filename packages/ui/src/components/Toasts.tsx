import { Toast as Radix } from 'radix-ui';
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react';
import { buttonClass, CloseButton } from './Button.tsx';
import { Lamp, type LampState } from './Lamp.tsx';

export interface ToastContent {
  /** What happened: "Note deleted." */
  title: string;
  /** What to do, or why. */
  detail?: string;
  state?: LampState;
  /** Takes back what happened; the toast stays a little longer. */
  undo?: () => void;
}

type ShowToast = (toast: ToastContent) => void;

const SHOWN_MS = 5_000;
const SHOWN_WITH_UNDO_MS = 10_000;
const MOST_AT_ONCE = 3;

/** Holds the toasts of a page. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly PlacedToast[]>([]);
  const count = useRef(0);
  const show = useCallback<ShowToast>((toast) => {
    count.current += 1;
    const placed = { ...toast, id: count.current };
    setToasts((shown) => [...shown, placed].slice(-MOST_AT_ONCE));
  }, []);
  const remove = useCallback(
    (id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)),
    [],
  );
  return (
    <Radix.Provider swipeDirection="right">
      <ToastContext value={show}>{children}</ToastContext>
      {toasts.map((toast) => (
        <Toast key={toast.id} toast={toast} onGone={() => remove(toast.id)} />
      ))}
      {/* At the top: what one writes in and sends with is at the bottom of a page. */}
      <Radix.Viewport className="fixed inset-x-4 top-[calc(env(safe-area-inset-top)+0.5rem)] z-60 mx-auto flex max-w-96 flex-col gap-2 outline-none" />
    </Radix.Provider>
  );
}

/** Shows a toast. */
export function useToast(): ShowToast {
  const show = useContext(ToastContext);
  if (show === null) throw new Error('useToast needs a ToastProvider around the page');
  return show;
}

interface PlacedToast extends ToastContent {
  id: number;
}

const ToastContext = createContext<ShowToast | null>(null);

function Toast({ toast, onGone }: { toast: PlacedToast; onGone(): void }) {
  return (
    <Radix.Root
      duration={toast.undo ? SHOWN_WITH_UNDO_MS : SHOWN_MS}
      type={toast.state === 'failed' ? 'foreground' : 'background'}
      onOpenChange={(open) => !open && onGone()}
      className="flex animate-rise items-center gap-3 rounded-corner border border-line-strong bg-raised py-2 pr-2 pl-4 shadow-float"
    >
      {toast.state && <Lamp state={toast.state} dotOnly />}
      <div className="min-w-0 flex-1 py-1">
        <Radix.Title className="font-medium text-14">{toast.title}</Radix.Title>
        {toast.detail && <Radix.Description className="text-12 text-muted">{toast.detail}</Radix.Description>}
      </div>
      {toast.undo && (
        <Radix.Action
          altText="Undo with the undo button"
          className={buttonClass({ size: 'small' })}
          onClick={toast.undo}
        >
          Undo
        </Radix.Action>
      )}
      <Radix.Close asChild>
        <CloseButton aria-label="Dismiss" />
      </Radix.Close>
    </Radix.Root>
  );
}
