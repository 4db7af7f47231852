import type { RemoteAgent } from '@trunkline/a2a';
import { type Family, familyRoles } from '@trunkline/service';
import type { VoiceOptions } from '../options.ts';
import type { AgentDelegate } from './a2a-delegate.ts';

/** Research takes minutes: whoever asks for it by voice goes on talking meanwhile. */
const researchPatienceMs = 10_000;

/** The services of this installation that the assistant may ask: those beside this one, and research at RESEARCH_URL. */
export function familyDelegates(
  family: Family | undefined,
  options: Pick<VoiceOptions, 'researchUrl' | 'researchAuthToken'>,
): AgentDelegate[] {
  return (['agent', 'research'] as const).flatMap((name) => {
    const agent =
      memberAgent(name, family) ?? (name === 'research' ? configuredResearch(options) : undefined);
    if (agent === undefined) return [];
    const patience = name === 'research' ? { patienceMs: researchPatienceMs } : {};
    return [{ type: 'a2a' as const, name, description: familyRoles[name], agent, ...patience }];
  });
}

function memberAgent(name: string, family: Family | undefined): RemoteAgent | undefined {
  const member = family?.find(name);
  if (family === undefined || member === undefined) return undefined;
  return { name, url: `${member.url}/a2a`, peer: { token: family.secret, name: 'voice' } };
}

function configuredResearch({
  researchUrl,
  researchAuthToken: bearer,
}: Pick<VoiceOptions, 'researchUrl' | 'researchAuthToken'>): RemoteAgent | undefined {
  if (researchUrl === undefined) return undefined;
  const credentials = bearer === undefined ? {} : { credentials: { bearer } };
  return { name: 'research', url: `${researchUrl.replace(/\/+$/, '')}/a2a`, ...credentials };
}
