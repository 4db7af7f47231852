import { useCallback } from 'react';
import { asApiError } from '../api/apiError.ts';
import { type ToastContent, useToast } from '../components/Toasts.tsx';

/** Does something; says in a toast what came of it. Gives whether it succeeded. */
export type Attempt = (work: () => Promise<unknown>, done?: ToastContent) => Promise<boolean>;

/** For what a button does: a failure is told in words, with what to do about it. */
export function useAttempt(): Attempt {
  const toast = useToast();
  return useCallback(
    async (work, done) => {
      try {
        await work();
        if (done !== undefined) toast(done);
        return true;
      } catch (error) {
        const { message, advice } = asApiError(error);
        toast({ title: message, detail: advice, state: 'failed' });
        return false;
      }
    },
    [toast],
  );
}
