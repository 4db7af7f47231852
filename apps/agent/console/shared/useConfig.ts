import { useApi, useAttempt, useResource } from '@trunkline/ui';
import type { AgentConfig } from '../../setup/config-schema.ts';

/** A change of one value in the configuration; comments in it stay. */
export type ConfigChange =
  | { op: 'set' | 'add'; path: (string | number)[]; value: unknown }
  | { op: 'remove'; path: (string | number)[] };

export type McpServer = AgentConfig['mcp']['servers'][number];
export type Delegate = AgentConfig['delegates'][number];

/** The live configuration, and a way to change values of it. */
export function useConfig() {
  const api = useApi();
  const attempt = useAttempt();
  const resource = useResource<{ config: AgentConfig }>('/api/config');
  return {
    config: resource.body?.config,
    error: resource.error,
    reload: resource.reload,
    /** Resolves to whether it was accepted; shows a refusal. */
    change: (title: string, ...changes: ConfigChange[]) =>
      attempt(() => api.request('/api/config', { method: 'PATCH', body: { changes } }), {
        title,
        detail: 'It takes effect in a moment.',
      }),
  };
}
