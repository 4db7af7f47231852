import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';

export interface PermissionRules {
  /** `auto` allows everything, `allowlist` what is listed, `readonly` what changes nothing. */
  permissions: 'auto' | 'allowlist' | 'readonly';
  allow_kinds: readonly string[];
  /** Refused whatever else is said. */
  deny_kinds: readonly string[];
}

const HARMLESS = new Set(['read', 'search', 'think']);

/** Whether the agent may do something of that kind: read, edit, delete, move, search, execute, think, fetch, other. */
export function mayDo(kind: string, { permissions, allow_kinds, deny_kinds }: PermissionRules): boolean {
  if (deny_kinds.includes(kind)) return false;
  if (permissions === 'auto') return true;
  return permissions === 'allowlist' ? allow_kinds.includes(kind) : HARMLESS.has(kind);
}

/** The answer to a request for permission: once rather than always, and nothing that was not offered. */
export function decide(request: RequestPermissionRequest, rules: PermissionRules): RequestPermissionResponse {
  const allowed = mayDo(request.toolCall.kind ?? 'other', rules);
  const wanted = allowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const option = wanted.flatMap((kind) => request.options.find((each) => each.kind === kind) ?? []).at(0);
  if (option === undefined) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: option.optionId } };
}
