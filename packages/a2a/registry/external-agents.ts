import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, type Environment, loadYaml } from '@trunkline/config';
import { z } from 'zod';
import type { RemoteAgent } from '../client/remote-agent.ts';
import {
  type Auth,
  auth,
  headers,
  type Loaded,
  name,
  readCredentials,
  uniqueNames,
  url,
} from './credentials.ts';

/** An agent of another service that takes part in the exchange. */
export interface ExternalAgent {
  name: string;
  agent: RemoteAgent;
  /** Whether it streams, where the operator says so; else its card does. */
  streaming?: boolean;
  /** Empty: they are read from its card. */
  skills: { name: string; description?: string }[];
  subscribesTo: string[];
  team?: string;
  /** By skill, the agent that is called with the answer as context. */
  chain: Record<string, string>;
  chatBotTokenEnvKey?: string;
}

const skill = z.union([
  z
    .string()
    .min(1)
    .transform((skillName) => ({ name: skillName })),
  z.object({ name: z.string().min(1), description: z.string().optional() }),
]);

const entrySchema = z.object({
  name,
  url,
  apiKeyEnv: z.string().min(1).optional(),
  auth: auth.optional(),
  headers: headers.optional(),
  streaming: z.boolean().optional(),
  chatBotTokenEnvKey: z.string().min(1).optional(),
  skills: z.array(skill).default([]),
  subscribesTo: z.array(z.string()).default([]),
  team: z.string().optional(),
  chain: z.record(z.string(), z.string()).default({}),
});

type Entry = z.output<typeof entrySchema>;

const fileSchema = z.object({ agents: z.array(entrySchema).superRefine(uniqueNames).nullish() }).default({});

/** Reads `agents.yaml` and the files of `agents.d`, which win over it. What is missing yields none. */
export async function loadExternalAgents(
  places: { file: string; directory: string },
  env: Environment,
): Promise<Loaded<ExternalAgent>> {
  const file = await loadYaml(places.file, fileSchema, { env, allowMissing: true });
  const single = await Promise.all(
    (await entryFiles(places.directory)).map((path) => loadYaml(path, entrySchema, { env })),
  );
  const byName = new Map([...(file?.agents ?? []), ...single].map((entry) => [entry.name, entry]));
  const warnings: string[] = [];
  return { entries: [...byName.values()].map((entry) => toExternalAgent(entry, env, warnings)), warnings };
}

async function entryFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return [];
    throw new ConfigError(`${directory} cannot be read:`, [`${directory}: ${cause.message}`], { cause });
  });
  return names
    .filter((fileName) => /\.ya?ml$/.test(fileName))
    .toSorted()
    .map((fileName) => join(directory, fileName));
}

function toExternalAgent(entry: Entry, env: Environment, warnings: string[]): ExternalAgent {
  const { url: address, headers: extra, apiKeyEnv: _, auth: __, skills, ...rest } = entry;
  const agent: RemoteAgent = {
    name: entry.name,
    url: address,
    ...readCredentials(`agent ${entry.name}`, authOf(entry), env, warnings),
    ...(extra && { headers: extra }),
  };
  return { ...withoutUndefined(rest), skills: skills.map(withoutUndefined), agent };
}

/** The newer field is preferred. */
function authOf({ auth: given, apiKeyEnv }: Entry): Auth | undefined {
  return given ?? (apiKeyEnv === undefined ? undefined : { scheme: 'apiKey', credentialsEnv: apiKeyEnv });
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Defined<T>;
}
