// What the configuration files of the services say about trust, read as they are written: a file that a service would
// refuse is looked at all the same.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { agentExposures, apiKeyVariable } from '@trunkline/agent';
import { type Environment, loadYaml, readVariable } from '@trunkline/config';
import { isLoopbackHost, keyFacts } from '@trunkline/http';
import type { PolicyConfig } from '@trunkline/policy';
import { researchExposures } from '@trunkline/research';
import { sandboxSettings } from '@trunkline/sandbox';
import type { ConfiguredTool, Diagnosis, Exposure, ToolTrust, UnpairedTrust } from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import { listedKeys, switchboardExposures } from '@trunkline/switchboard';
import { voiceExposures } from '@trunkline/voice';
import { z } from 'zod';
import type { ServiceOptions } from '../fleet/service-options.ts';

const identities = z.array(z.string()).default([]);
const program = z.looseObject({
  name: z.string(),
  trusted: z.boolean().optional(),
  trust: z.string().optional(),
  confirm: z.boolean().optional(),
  enabled: z.boolean().optional(),
  sandbox: sandboxSettings.optional().catch(undefined),
});
const programs = z.array(program).default([]);
const agentFile = z
  .looseObject({
    approvals: z.looseObject({ approvers: identities }).optional(),
    mcp: z.looseObject({ servers: programs }).optional(),
    coding_agents: programs,
    delegates: programs,
  })
  .nullish();
const workspaceFile = z.looseObject({ approvers: identities }).nullish();
const channel = z.looseObject({ id: z.string(), trustMembers: z.boolean().optional() });
const channelsFile = z.looseObject({ channels: z.array(channel).default([]) }).nullish();
const keysFile = z
  .looseObject({ keys: z.array(z.looseObject({ name: z.string(), envKey: z.string() })).default([]) })
  .nullish();
const user = z.looseObject({ id: z.coerce.string(), api_key: z.coerce.string() });
const users = z.array(z.union([user, z.unknown().transform(() => undefined)]));
const usersFile = z.union([users, z.looseObject({ users: users.nullish() })]).nullish();
const voiceMcpFile = z.looseObject({ servers: programs.nullish() }).nullish();
const external = z.looseObject({ name: z.string(), skills: z.array(z.unknown()).default([]) });
const externalFile = z.looseObject({ agents: z.array(external).nullish() }).nullish();
const asWritten = { allowMissing: true, expand: false } as const;

/** The file of the agent's live configuration. */
async function readAgentFile(home: string, { agent }: ServiceOptions) {
  const folder = agent.configDirectory ?? join(serviceHome(home, 'agent'), 'config');
  return await loadYaml(agent.configFile ?? join(folder, 'agent.yaml'), agentFile, asWritten);
}

/** Who may approve at the agent and on the switchboard beside the operator. */
export async function listedApprovers(
  home: string,
  services: ServiceOptions,
): Promise<{ identity: string; file: string }[]> {
  const configured = await readAgentFile(home, services);
  const listed = await loadYaml(
    join(workspaceOf(home, services), 'approvers.yaml'),
    workspaceFile,
    asWritten,
  );
  const from = (file: string, found: readonly string[] = []) => found.map((identity) => ({ identity, file }));
  return [
    ...from('agent.yaml', configured?.approvals?.approvers),
    ...from('approvers.yaml', listed?.approvers),
  ];
}

/** Whom the surfaces of the switchboard trust without pairing. */
export async function trustedSenders(home: string, services: ServiceOptions): Promise<UnpairedTrust> {
  const file = await loadYaml(join(workspaceOf(home, services), 'channels.yaml'), channelsFile, asWritten);
  const trusted = (file?.channels ?? []).filter(({ trustMembers }) => trustMembers);
  return { pairing: services.switchboard.pairing, trustedChannels: trusted.map(({ id }) => id) };
}

/** Programs and servers of all services, and what was relaxed for them. */
export async function configuredTools(home: string, services: ServiceOptions): Promise<ToolTrust> {
  const agent = await readAgentFile(home, services);
  const voice = await loadYaml(voiceFile(home, services, 'mcp'), voiceMcpFile, asWritten);
  const folder = join(workspaceOf(home, services), 'mcp-servers.d');
  const servers = await Promise.all(
    yamlFilesOf(folder).map(async (file) => ({
      file,
      server: await loadYaml(join(folder, file), program, asWritten),
    })),
  );
  return {
    configured: [
      ...toolsOf('MCP server', 'agent.yaml', agent?.mcp?.servers),
      ...toolsOf('coding agent', 'agent.yaml', agent?.coding_agents),
      ...toolsOf('delegate', 'agent.yaml', agent?.delegates),
      ...toolsOf('MCP server', 'mcp.yaml of voice', voice?.servers),
      ...servers.flatMap(({ file, server }) =>
        toolsOf('MCP server', `mcp-servers.d/${file}`, server && [server]),
      ),
      ...(await agentsByCard(home, services)),
    ],
    commandHosts: [services.agent, services.switchboard].flatMap(({ sandboxHosts }) => sandboxHosts),
    shell: services.switchboard.shell,
  };
}

/** Agents of others that the switchboard knows by their cards alone. */
async function agentsByCard(home: string, services: ServiceOptions): Promise<ConfiguredTool[]> {
  const workspace = workspaceOf(home, services);
  const list = services.switchboard.agentsFile ?? join(workspace, 'agents.yaml');
  const listed = (await loadYaml(list, externalFile, asWritten))?.agents ?? [];
  const folder = join(workspace, 'agents.d');
  const single = await Promise.all(
    yamlFilesOf(folder).map(async (file) => ({
      file: `agents.d/${file}`,
      agent: await loadYaml(join(folder, file), external, asWritten),
    })),
  );
  return [...listed.map((agent) => ({ file: 'agents.yaml', agent })), ...single].flatMap(({ file, agent }) =>
    agent === undefined || agent.skills.length > 0 ? [] : [{ kind: 'agent', name: agent.name, file }],
  );
}

const describedAs: Partial<Record<ConfiguredTool['kind'], string>> = {
  'MCP server': 'mcp-description',
  agent: 'agent-card',
};

/** Whose words nobody has ever accepted. Whether a text has changed since, a running service knows. */
export function waitingDescriptions(
  { configured }: ToolTrust,
  { descriptions }: Pick<PolicyConfig, 'descriptions'>,
): Diagnosis {
  const subject = 'descriptions';
  const waiting = configured.filter(
    ({ kind, name, trusted }) =>
      kind in describedAs && !trusted && descriptions[`${describedAs[kind]} ${name}`] === undefined,
  );
  if (waiting.length === 0)
    return { subject, state: 'ok', words: 'no MCP server and no agent of the files waits to be accepted.' };
  const names = waiting.map(({ name, file }) => `${name} (${file})`).join(', ');
  return {
    subject,
    state: 'warning',
    words: `nobody has accepted what they say about themselves, so tools with effects ask in turns that show it: ${names}.`,
    advice:
      'Start the services; read and accept it on the page /trust, under Policy, or with "npx trunkline policy descriptions".',
  };
}

function toolsOf(
  kind: ConfiguredTool['kind'],
  file: string,
  listed: readonly z.output<typeof program>[] | null | undefined,
): ConfiguredTool[] {
  return (listed ?? [])
    .filter(({ enabled = true }) => enabled)
    .map(({ name, trusted, trust, confirm, sandbox }) => ({
      kind,
      name,
      file,
      trusted: trusted ?? (trust !== undefined && trust !== 'community'),
      confirm,
      sandbox,
    }));
}

/** How others reach the services, with the keys of programs and people that stand in files. */
export async function listedExposures(
  { home, isOpen }: { home: string; isOpen: boolean },
  services: ServiceOptions,
  env: Environment,
): Promise<Exposure[]> {
  const { agent, research, switchboard, voice } = services;
  const file = await loadYaml(join(workspaceOf(home, services), 'keys.yaml'), keysFile, asWritten);
  const roster = await loadYaml(voiceFile(home, services, 'users'), usersFile, asWritten);
  const people = (Array.isArray(roster) ? roster : (roster?.users ?? [])).flatMap((each) => each ?? []);
  const personalKeys = people.flatMap(({ id, api_key: written }) => {
    const variable = /^\$\{(\w+)\}$/.exec(written)?.[1];
    const key = variable === undefined ? written : readVariable(variable, env);
    // Stored secrets are made by people too, but are not read for this.
    return key === undefined || key.includes('${') ? [] : [[id, keyFacts(key)]];
  });
  const isAlone = people.length === 0;
  const { authToken: token, operatorToken } = agent;
  const agentKey = readVariable(apiKeyVariable(agent.agentName), env);
  // As voice decides at its door: a caller without a key must not go round that of a service beside it.
  const neighbourKeys = [token, operatorToken, agentKey, research.authToken, switchboard.apiKey];
  const isReached = !isLoopbackHost(voice.host) || neighbourKeys.some((key) => key !== undefined);
  const isOperatorOnly = isAlone && !isOpen && isReached;
  return [
    ...agentExposures(agent, {
      token,
      apiKey: agentKey,
      operatorToken,
    }),
    ...researchExposures(research),
    ...switchboardExposures(switchboard, listedKeys(file?.keys ?? [], env)),
    ...voiceExposures(voice, {
      keys: Object.fromEntries(personalKeys),
      isOpen: isAlone && !isOperatorOnly,
      isOperatorOnly,
    }),
  ];
}

function voiceFile(home: string, { voice }: ServiceOptions, which: 'mcp' | 'users'): string {
  const folder = voice.configDir ?? join(serviceHome(home, 'voice'), 'config');
  return (which === 'mcp' ? voice.mcpYaml : voice.usersYaml) ?? join(folder, `${which}.yaml`);
}

/** Files that the switchboard reads: no examples and no hidden ones. */
function yamlFilesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((file) => /^[^.].*(?<!\.example)\.ya?ml$/.test(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function workspaceOf(home: string, { switchboard }: ServiceOptions): string {
  return switchboard.workspaceDirectory ?? join(serviceHome(home, 'switchboard'), 'workspace');
}
