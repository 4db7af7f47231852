import type { Environment } from '@trunkline/config';
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

/** One agent: a file of `agents.d`, or an entry of `agents.yaml`. */
export const externalAgentSchema = z.object({
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

export type ExternalAgentEntry = z.output<typeof externalAgentSchema>;

/** `agents.yaml`: all of them in one list. */
export const externalAgentsSchema = z
  .object({ agents: z.array(externalAgentSchema).superRefine(uniqueNames).nullish() })
  .default({});

/** Agents that can be called, out of what stands in files. */
export function toExternalAgents(
  entries: readonly ExternalAgentEntry[],
  env: Environment,
): Loaded<ExternalAgent> {
  const warnings: string[] = [];
  return { entries: entries.map((entry) => toExternalAgent(entry, env, warnings)), warnings };
}

function toExternalAgent(entry: ExternalAgentEntry, env: Environment, warnings: string[]): ExternalAgent {
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
function authOf({ auth: given, apiKeyEnv }: ExternalAgentEntry): Auth | undefined {
  return given ?? (apiKeyEnv === undefined ? undefined : { scheme: 'apiKey', credentialsEnv: apiKeyEnv });
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Defined<T>;
}
