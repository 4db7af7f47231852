import { useApi } from '@trunkline/ui';
import { goTo } from './route.ts';
import { useAction } from './useAction.ts';

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
