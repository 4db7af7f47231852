import type { ExternalAgent, RemoteAgent } from '@trunkline/a2a';
import { type Family, familyRoles } from '@trunkline/service';
import type { Workspace } from './workspace.ts';

/** The workspace with the services that run beside the switchboard as further agents; what its files say goes first. */
export function withFamily(workspace: Workspace, family: Family | undefined): Workspace {
  if (family === undefined) return workspace;
  return {
    ...workspace,
    externalAgents() {
      const listed = workspace.externalAgents();
      const known = new Set([...listed, ...workspace.agents()].map(({ name }) => name));
      return [...listed, ...membersOf(family).filter(({ name }) => !known.has(name))];
    },
    expectedAgents() {
      const known = new Set([...workspace.externalAgents(), ...workspace.agents()].map(({ name }) => name));
      return Object.keys(familyRoles).filter((name) => !known.has(name));
    },
    listedElsewhere() {
      const members = membersOf(family).map(({ name }) => [name, 'the services that run beside it'] as const);
      return new Map([...members, ...workspace.listedElsewhere()]);
    },
    targets() {
      const listed = workspace.targets();
      const agent = family.find('agent');
      if (agent === undefined || listed?.has(family.agentName)) return listed;
      return new Map([...(listed ?? []), [family.agentName, remoteOf(family.agentName, agent.url, family)]]);
    },
  };
}

function membersOf(family: Family): ExternalAgent[] {
  return Object.keys(familyRoles).flatMap((name) => {
    const member = family.find(name);
    if (member === undefined) return [];
    return [{ name, agent: remoteOf(name, member.url, family), skills: [], subscribesTo: [], chain: {} }];
  });
}

function remoteOf(name: string, url: string, { secret }: Family): RemoteAgent {
  return { name, url: `${url}/a2a`, peer: { token: secret, name: 'switchboard' } };
}
