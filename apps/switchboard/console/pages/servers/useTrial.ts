import { plural, useApi, useAttempt, useToast } from '@trunkline/ui';
import type { Answer } from '../../../api-types.ts';

const TRIAL_MS = 60_000;

/** Connects to a server for a moment, and says what came of it. */
export function useTrial() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return async (path: string, name: string, body: object): Promise<void> => {
    await attempt(async () => {
      const { data } = await api.request<Answer<{ tools: { name: string }[] }>>(path, {
        body,
        timeLimitMs: TRIAL_MS,
      });
      const names = data.tools.map((tool) => tool.name).join(', ');
      toast({
        title: `${name} answers with ${plural(data.tools.length, 'tool')}.`,
        detail: names.slice(0, 200),
        state: 'live',
      });
    });
  };
}
