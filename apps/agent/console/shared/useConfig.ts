import { useApi, useAttempt, useResource } from '@trunkline/ui';

/** A change of one value in the configuration; comments in it stay. */
export type ConfigChange =
  | { op: 'set' | 'add'; path: (string | number)[]; value: unknown }
  | { op: 'remove'; path: (string | number)[] };

/** The configuration as far as pages show it. */
export interface Config {
  skills: { disabled: string[] };
  plugins: { enabled: string[]; disabled: string[] };
  mcp: { servers: McpServer[] };
  delegates: Delegate[];
}

export interface McpServer {
  name: string;
  enabled: boolean;
  command?: string;
  args: string[];
  env: Record<string, string>;
  url?: string;
  headers: Record<string, string>;
  timeout_s: number;
}

export interface Delegate {
  name: string;
  enabled: boolean;
  type: 'a2a' | 'compat' | 'acp';
  description: string;
  url?: string;
  command?: string;
  model?: string;
}

/** The live configuration, and a way to change values of it. */
export function useConfig() {
  const api = useApi();
  const attempt = useAttempt();
  const resource = useResource<{ config: Config }>('/api/config');
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
