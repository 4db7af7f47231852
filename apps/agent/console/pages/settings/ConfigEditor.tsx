import {
  CheckedEditor,
  ErrorState,
  type LineMessage,
  Skeleton,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { useCallback } from 'react';
import { useLive } from '../../app/live.ts';

/** The configuration as text. */
export function ConfigEditor() {
  const { body, error, reload } = useResource<{ file: string; text: string }>('/api/config');
  const api = useApi();
  const attempt = useAttempt();
  useLive(['config'], reload);
  const check = useCallback(
    async (text: string, signal: AbortSignal) => {
      const request = { body: { text }, signal };
      return (await api.request<{ problems: LineMessage[] }>('/api/config/check', request)).problems;
    },
    [api],
  );
  const save = async (text: string, before: string) => {
    const write = () => api.request('/api/config', { method: 'PUT', body: { text, before } });
    const saved = await attempt(write, { title: 'Saved.', detail: 'It takes effect in a moment.' });
    if (saved) reload();
    return saved;
  };
  if (error && !body)
    return (
      <ErrorState what="The configuration could not be loaded." why={error.message} todo={error.advice} />
    );
  if (body === undefined) return <Skeleton rows={10} />;
  return (
    <div className="flex flex-col gap-3">
      <p className="font-mono text-12 break-all text-muted">{body.file}</p>
      <CheckedEditor label="The configuration" saved={body.text} check={check} save={save} />
    </div>
  );
}
