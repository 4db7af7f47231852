import type { A2aDelegate } from '@trunkline/a2a';
import { type Family, familyRoles } from '@trunkline/service';

/** The services beside this one that the assistant may ask. */
export function familyDelegates(family: Family | undefined): A2aDelegate[] {
  return (['agent', 'research'] as const).flatMap((name) => {
    const member = family?.find(name);
    if (family === undefined || member === undefined) return [];
    const agent = { name, url: `${member.url}/a2a`, credentials: { bearer: family.secret } };
    return [{ type: 'a2a' as const, name, description: familyRoles[name], agent }];
  });
}
