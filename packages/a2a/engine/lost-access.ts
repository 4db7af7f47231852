import { isRefusal } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';

/** How often work under way asks whether whoever wanted it still may. Other processes change accounts. */
export const accessCheckMs = 15_000;

/** An account that owns something, with the least of roles, as its own is not known. */
export function accountOf(owner = ''): Principal | undefined {
  const [, id] = /^(?:person|operator):(user:.+)$/s.exec(owner) ?? [];
  return id === undefined ? undefined : { kind: 'person', id, via: [], role: 'guest' };
}

/** Why somebody may no longer have done what they asked for, if so. */
export function lostAccess(
  asker: Principal,
  current: (principal: Principal) => Principal,
  logger: { warn(fields: object, message: string): void },
): string | undefined {
  try {
    const isAsBefore = current(asker) === asker;
    return isAsBefore ? undefined : 'Stopped: whoever asked for this has fewer rights now. Ask again.';
  } catch (error) {
    if (isRefusal(error)) return `Stopped: ${errorMessage(error)}`;
    logger.warn({ err: error }, 'failed to check access; retrying');
    return undefined;
  }
}
