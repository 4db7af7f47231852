import type { ExternalAgent, RemoteAgent } from '@trunkline/a2a';
import { type Peers, peerRoles } from '@trunkline/service';
import type { Workspace } from './workspace.ts';

/** The workspace with the services that run beside the switchboard as further agents; what its files say goes first. */
export function withPeers(workspace: Workspace, peers: Peers | undefined): Workspace {
  if (peers === undefined) return workspace;
  return {
    ...workspace,
    externalAgents() {
      const listed = workspace.externalAgents();
      const known = new Set([...listed, ...workspace.agents()].map(({ name }) => name));
      return [...listed, ...agentsOf(peers).filter(({ name }) => !known.has(name))];
    },
    expectedAgents() {
      const known = new Set([...workspace.externalAgents(), ...workspace.agents()].map(({ name }) => name));
      return Object.keys(peerRoles).filter((name) => !known.has(name));
    },
    listedElsewhere() {
      const agents = agentsOf(peers).map(({ name }) => [name, 'the services that run beside it'] as const);
      return new Map([...agents, ...workspace.listedElsewhere()]);
    },
    targets() {
      const listed = workspace.targets();
      const agent = peers.find('agent');
      if (agent === undefined || listed?.has(peers.agentName)) return listed;
      return new Map([...(listed ?? []), [peers.agentName, remoteOf(peers.agentName, agent.url, peers)]]);
    },
  };
}

function agentsOf(peers: Peers): ExternalAgent[] {
  return Object.keys(peerRoles).flatMap((name) => {
    const peer = peers.find(name);
    if (peer === undefined) return [];
    return [{ name, agent: remoteOf(name, peer.url, peers), skills: [], subscribesTo: [], chain: {} }];
  });
}

function remoteOf(name: string, url: string, { serviceToken }: Peers): RemoteAgent {
  return { name, url: `${url}/a2a`, peer: { token: serviceToken, name: 'switchboard' } };
}
