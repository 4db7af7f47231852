import { asApiError, useToast } from '@trunkline/ui';
import { useCallback, useState } from 'react';

/** Runs something that may fail: busy while it runs, a toast when it fails. */
export function useAction(what: string): { busy: boolean; run(work: () => Promise<void>): void } {
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const run = useCallback(
    (work: () => Promise<void>) => {
      setBusy(true);
      void work()
        .catch((error: unknown) => {
          const { message, advice } = asApiError(error);
          toast({ title: what, detail: `${message} ${advice}`, state: 'failed' });
        })
        .finally(() => setBusy(false));
    },
    [toast, what],
  );
  return { busy, run };
}
