import { type Api, ApiError, asApiError, useApi, useToast } from '@trunkline/ui';
import { useCallback, useState } from 'react';
import { goTo } from './route.ts';

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

/** Fetches a file with the key of the page and hands it to the browser to save. */
export async function downloadFile(api: Api, path: string): Promise<void> {
  const response = await fetch(path, { headers: api.keyHeaders(), signal: AbortSignal.timeout(120_000) });
  if (!response.ok) throw await failureOf(response);
  const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'report';
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the address up by the next task.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

async function failureOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  const words = typeof body === 'object' && body !== null && 'error' in body ? String(body.error) : '';
  return new ApiError({
    status: response.status,
    code: 'EXPORT_FAILED',
    message: words || 'The file could not be made.',
    advice: 'Take another format, or try again.',
    body,
  });
}

/** Starts the same research again and opens it. */
export function useRunAgain(): { busy: boolean; runAgain(id: string): void } {
  const api = useApi();
  const { busy, run } = useAction('The research could not be started.');
  const runAgain = (id: string) =>
    run(async () => {
      const path = `/api/research/deep/${encodeURIComponent(id)}/rerun`;
      const { researchId } = await api.request<{ researchId: string }>(path, { method: 'POST' });
      goTo({ name: 'research', id: researchId });
    });
  return { busy, runAgain };
}
