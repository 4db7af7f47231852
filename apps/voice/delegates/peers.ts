import type { RemoteAgent } from '@trunkline/a2a';
import { type Peers, peerRoles } from '@trunkline/service';
import type { VoiceOptions } from '../options.ts';
import type { AgentDelegate } from './a2a-delegate.ts';

/** Research takes minutes: whoever asks for it by voice goes on talking meanwhile. */
const researchPatienceMs = 10_000;

/** The services of this installation that the assistant may ask: those beside this one, and research at RESEARCH_URL. */
export function peerDelegates(
  peers: Peers | undefined,
  options: Pick<VoiceOptions, 'researchUrl' | 'researchAuthToken'>,
): AgentDelegate[] {
  return (['agent', 'research'] as const).flatMap((name) => {
    const agent = peerAgent(name, peers) ?? (name === 'research' ? configuredResearch(options) : undefined);
    if (agent === undefined) return [];
    const patience = name === 'research' ? { patienceMs: researchPatienceMs } : {};
    return [{ type: 'a2a' as const, name, description: peerRoles[name], agent, ...patience }];
  });
}

function peerAgent(name: string, peers: Peers | undefined): RemoteAgent | undefined {
  const peer = peers?.find(name);
  if (peers === undefined || peer === undefined) return undefined;
  return { name, url: `${peer.url}/a2a`, peer: { token: peers.serviceToken, name: 'voice' } };
}

function configuredResearch({
  researchUrl,
  researchAuthToken: bearer,
}: Pick<VoiceOptions, 'researchUrl' | 'researchAuthToken'>): RemoteAgent | undefined {
  if (researchUrl === undefined) return undefined;
  const credentials = bearer === undefined ? {} : { credentials: { bearer } };
  return { name: 'research', url: `${researchUrl.replace(/\/+$/, '')}/a2a`, ...credentials };
}
