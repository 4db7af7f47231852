import { type Api, ApiError } from '@trunkline/ui';

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
