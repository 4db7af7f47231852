import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  changeEnvironmentFile,
  type Environment,
  type OptionTable,
  plainSecretsIn,
  plainVariables,
  readOptions,
  type SecretStore,
  secretNameOf,
  secretReference,
  withReferences,
} from '@trunkline/config';
import type { SecurityFinding } from '@trunkline/service';
import { errorMessage, systemCode } from '@trunkline/std';
import { serviceHome, writeFileAtomic } from '@trunkline/storage';
import { readServiceOptions, type ServiceOptions } from '../fleet/service-options.ts';
import { optionTables, upOptions } from '../options.ts';

/** A secret that stands in a file in plain text. */
export interface PlainSecret {
  file: string;
  /** The variable, or the keys that lead to it. */
  place: string;
  /** What it is called in the store. */
  name: string;
  value: string;
}

export interface ImportOptions {
  home: string;
  environmentFile: string;
  services: ServiceOptions;
  tables: readonly OptionTable[];
  store: SecretStore;
}

export function importOptions(home: string, env: Environment, store: SecretStore): ImportOptions {
  const services = readServiceOptions(readOptions(upOptions, { env }), env);
  return { home, environmentFile: join(process.cwd(), '.env'), services, tables: optionTables, store };
}

/** The secrets in plain text in .env and in the files of the services that may refer to the store. */
export function findPlainSecrets(options: ImportOptions): PlainSecret[] {
  const taken = new Map<string, string>();
  const nameFor = (wanted: string, value: string) => {
    const stem = secretNameOf(wanted);
    for (let count = 1; ; count++) {
      const name = count === 1 ? stem : `${stem}-${count}`;
      const known = taken.get(name) ?? options.store.get(name);
      if (known !== undefined && known !== value) continue;
      taken.set(name, value);
      return name;
    }
  };
  const { environmentFile, tables } = options;
  const variables = plainVariables(readIfThere(environmentFile), environmentFile, tables).map((found) => ({
    ...found,
    file: environmentFile,
    name: nameFor(found.place, found.value),
  }));
  const values = configurationFiles(options).flatMap(({ service, file }) =>
    plainSecretsIn(readIfThere(file)).map((found) => ({
      ...found,
      file,
      name: nameFor(`${service}-${basename(file, '.yaml')}-${found.place}`, found.value),
    })),
  );
  return [...variables, ...values];
}

/** Moves them into the store and leaves references; each file is copied first. Gives the folder of the copies. */
export async function importSecrets(
  found: readonly PlainSecret[],
  { home, environmentFile, store }: ImportOptions,
): Promise<string> {
  const copies = join(home, `before-secret-import-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  mkdirSync(copies, { recursive: true, mode: 0o700 });
  for (const { name, value } of found) if (store.get(name) !== value) store.set(name, value);
  for (const [file, secrets] of Map.groupBy(found, (secret) => secret.file)) {
    copyFileSync(file, join(copies, file.replace(/[^\w.-]+/g, '_').replace(/^_+/, '')));
    const text = readFileSync(file, 'utf8');
    const changed =
      file === environmentFile
        ? withVariables(text, file, secrets)
        : withReferences(text, ({ place, value }) => nameIn(secrets, place, value));
    await writeFileAtomic(file, changed, { mode: 0o600, over: text });
  }
  return copies;
}

function nameIn(secrets: readonly PlainSecret[], place: string, value: string): string | undefined {
  return secrets.find((one) => one.place === place && one.value === value)?.name;
}

function withVariables(text: string, file: string, secrets: readonly PlainSecret[]): string {
  return changeEnvironmentFile(text, file, (place, value) => {
    const name = nameIn(secrets, place, value);
    return name && secretReference(name);
  });
}

/** Files in which a reference counts. People's own keys (users.yaml, keys.yaml) are kept where the contract has them. */
function configurationFiles({ home, services }: ImportOptions): { service: string; file: string }[] {
  const { agent, switchboard, voice } = services;
  const agentFolder = agent.configDirectory ?? join(serviceHome(home, 'agent'), 'config');
  const voiceFolder = voice.configDir ?? join(serviceHome(home, 'voice'), 'config');
  const files = (service: string, ...paths: string[]) => paths.map((file) => ({ service, file }));
  return [
    ...files('agent', agent.configFile ?? join(agentFolder, 'agent.yaml'), join(agentFolder, 'secrets.yaml')),
    ...files('voice', voice.mcpYaml ?? join(voiceFolder, 'mcp.yaml')),
    ...files('voice', voice.delegatesYaml ?? join(voiceFolder, 'delegates.yaml')),
    // Switchboards on one NATS share their files, and each has a store of its own.
    ...(switchboard.natsUrl === undefined ? files('switchboard', ...workspaceFiles(home, switchboard)) : []),
  ];
}

function workspaceFiles(
  home: string,
  { workspaceDirectory, agentsFile }: ServiceOptions['switchboard'],
): string[] {
  const folder = workspaceDirectory ?? join(serviceHome(home, 'switchboard'), 'workspace');
  const single = ['a2a.yaml', 'chat.yaml', 'codehost.yaml', 'cloud.yaml', 'fleet.yaml', 'channels.yaml'];
  const folders = ['agents.d', 'mcp-servers.d'].map((name) => join(folder, name));
  return [
    agentsFile ?? join(folder, 'agents.yaml'),
    ...single.map((name) => join(folder, name)),
    ...folders.flatMap((path) => yamlFilesOf(path)),
  ];
}

function yamlFilesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.ya?ml$/.test(name))
      .map((name) => join(folder, name));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}

const MAX_NAMED = 5;

/** Secrets of settings that could stand in the encrypted store. */
export function checkPlainSecrets(options: ImportOptions): SecurityFinding {
  const subject = 'plain secrets';
  try {
    const found = findPlainSecrets(options);
    if (found.length === 0)
      return { subject, state: 'ok', words: 'none in .env and the files of the services.' };
    const files = [...new Set(found.map(({ file }) => file))].slice(0, MAX_NAMED).join(', ');
    return {
      subject,
      state: 'warning',
      words: `${found.length} stand in plain text in ${files}.`,
      advice:
        'Run "npx trunkline secret import" (--dry-run shows what it does), or "npx trunkline audit --fix".',
      fix: async () =>
        `moved them into the store; the files as they were: ${await importSecrets(found, options)}.`,
    };
  } catch (error) {
    return { subject, state: 'failed', words: errorMessage(error), advice: 'Mend that, then look again.' };
  }
}
