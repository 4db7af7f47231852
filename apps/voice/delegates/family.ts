import { type Family, familyRoles } from '@trunkline/service';
import type { AgentDelegate } from './a2a-delegate.ts';

/** Research takes minutes: whoever asks for it by voice goes on talking meanwhile. */
const researchPatienceMs = 10_000;

/** The services beside this one that the assistant may ask. */
export function familyDelegates(family: Family | undefined): AgentDelegate[] {
  return (['agent', 'research'] as const).flatMap((name) => {
    const member = family?.find(name);
    if (family === undefined || member === undefined) return [];
    const agent = { name, url: `${member.url}/a2a`, peer: { token: family.secret, name: 'voice' } };
    const patience = name === 'research' ? { patienceMs: researchPatienceMs } : {};
    return [{ type: 'a2a' as const, name, description: familyRoles[name], agent, ...patience }];
  });
}
