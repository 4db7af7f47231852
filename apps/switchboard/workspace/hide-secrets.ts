import { isSecretName } from '@trunkline/config';
import type { Workspace } from './workspace.ts';

/** Keeps the credentials of the workspace out of the log from now on; other values (`DEBUG: "true"`) are common words. */
export function hideSecrets(workspace: Workspace, hide: ((secret: string) => void) | undefined): void {
  if (hide === undefined) return;
  const maps = workspace
    .mcpServers()
    .map((server) => (server.transport === 'stdio' ? server.env : server.headers));
  const remote = [
    ...workspace.externalAgents().map(({ agent }) => agent),
    ...(workspace.targets()?.values() ?? []),
  ];
  const fields = [...maps, ...remote.map(({ headers }) => headers ?? {})].flatMap((map) =>
    Object.entries(map),
  );
  for (const [name, value] of fields) if (isSecretName(name)) hide(value);
  for (const { credentials } of remote)
    for (const value of Object.values(credentials ?? {})) if (typeof value === 'string') hide(value);
}
