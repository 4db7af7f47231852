import { join } from 'node:path';
import { loadYaml } from '@trunkline/config';
import type { UnpairedTrust } from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import { z } from 'zod';
import type { ServiceOptions } from '../fleet/service-options.ts';

const identities = z.array(z.string()).default([]);
const agentFile = z.looseObject({ approvals: z.looseObject({ approvers: identities }).optional() }).nullish();
const workspaceFile = z.looseObject({ approvers: identities }).nullish();
const channel = z.looseObject({ id: z.string(), trustMembers: z.boolean().optional() });
const channelsFile = z.looseObject({ channels: z.array(channel).default([]) }).nullish();
const asWritten = { allowMissing: true, expand: false } as const;

/** Who may approve at the agent and on the switchboard beside the operator. */
export async function listedApprovers(
  home: string,
  { agent, switchboard }: ServiceOptions,
): Promise<{ identity: string; file: string }[]> {
  const agentFolder = agent.configDirectory ?? join(serviceHome(home, 'agent'), 'config');
  const workspace = workspaceOf(home, switchboard);
  const configured = await loadYaml(
    agent.configFile ?? join(agentFolder, 'agent.yaml'),
    agentFile,
    asWritten,
  );
  const listed = await loadYaml(join(workspace, 'approvers.yaml'), workspaceFile, asWritten);
  const from = (file: string, found: readonly string[] = []) => found.map((identity) => ({ identity, file }));
  return [
    ...from('agent.yaml', configured?.approvals?.approvers),
    ...from('approvers.yaml', listed?.approvers),
  ];
}

/** Whom the surfaces of the switchboard trust without pairing. */
export async function trustedSenders(home: string, { switchboard }: ServiceOptions): Promise<UnpairedTrust> {
  const file = await loadYaml(join(workspaceOf(home, switchboard), 'channels.yaml'), channelsFile, asWritten);
  const trusted = (file?.channels ?? []).filter(({ trustMembers }) => trustMembers);
  return { pairing: switchboard.pairing, trustedChannels: trusted.map(({ id }) => id) };
}

function workspaceOf(home: string, { workspaceDirectory }: ServiceOptions['switchboard']): string {
  return workspaceDirectory ?? join(serviceHome(home, 'switchboard'), 'workspace');
}
