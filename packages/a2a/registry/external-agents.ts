import type { JsonWebKey } from 'node:crypto';
import { type Environment, loadYaml, readVariable } from '@trunkline/config';
import { z } from 'zod';
import type { RemoteAgent, RemoteCredentials } from '../client/remote-agent.ts';

/** The entries of a file, and warnings about what they lack. */
export interface Loaded<Entry> {
  entries: Entry[];
  /** Variables that are named but not set: the entries stand, but calls will be refused. */
  warnings: string[];
}

const name = z.string().trim().min(1);

const url = z.url({ protocol: /^https?$/ });

const headers = z.record(z.string(), z.string());

const auth = z.object({
  scheme: z.enum(['apiKey', 'bearer', 'hmac']),
  credentialsEnv: z.string().min(1),
});

type Auth = z.output<typeof auth>;

const fields: Record<Auth['scheme'], keyof RemoteCredentials> = {
  apiKey: 'apiKey',
  bearer: 'bearer',
  hmac: 'hmacSecret',
};

/** Whose card is believed: the same fields wherever another agent is configured. */
export const cardTrustFields = {
  /** Public keys, one of which must have signed the card. */
  cardKeys: z.array(z.looseObject({ kty: z.enum(['OKP', 'EC', 'RSA']) })).optional(),
  /** Or the address where they stand. */
  cardJwks: url.optional(),
  /** Hosts besides its own where the card may place the agent. */
  cardHosts: z.array(z.string().trim().min(1)).optional(),
};

export interface CardTrust {
  cardKeys?: readonly JsonWebKey[] | undefined;
  cardJwks?: string | undefined;
  cardHosts?: readonly string[] | undefined;
}

export function cardTrust({ cardKeys, cardJwks, cardHosts }: CardTrust) {
  return {
    ...((cardKeys ?? cardJwks) && { trust: withoutUndefined({ keys: cardKeys, jwks: cardJwks }) }),
    ...(cardHosts && { cardHosts }),
  };
}

/** Reads the variable that an entry names; says so when it is not set. */
function readCredentials(
  owner: string,
  given: Auth | undefined,
  env: Environment,
  warnings: string[],
): { credentials?: RemoteCredentials } {
  if (given === undefined) return {};
  const value = readVariable(given.credentialsEnv, env);
  if (value !== undefined) return { credentials: { [fields[given.scheme]]: value } };
  warnings.push(`${owner}: the variable ${given.credentialsEnv} that holds its credential is not set`);
  return {};
}

/** For lists: every name may stand once. */
function uniqueNames(entries: readonly { name: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  entries.forEach((entry, index) => {
    if (seen.has(entry.name)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `the name ${entry.name} stands twice`,
      });
    }
    seen.add(entry.name);
  });
}

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
  /** Senders whom the operator has not paired may talk to it. */
  public?: boolean;
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
  ...cardTrustFields,
  chatBotTokenEnvKey: z.string().min(1).optional(),
  public: z.boolean().optional(),
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
  const { url: address, headers: extra, apiKeyEnv: _, auth: __, skills, ...more } = entry;
  const { cardKeys: ___, cardJwks: ____, cardHosts: _____, ...rest } = more;
  const agent: RemoteAgent = {
    name: entry.name,
    url: address,
    ...readCredentials(`agent ${entry.name}`, authOf(entry), env, warnings),
    ...(extra && { headers: extra }),
    ...cardTrust(entry),
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

const targetSchema = z.object({
  url,
  ...cardTrustFields,
  bearer_token: z.string().min(1).optional(),
  api_key: z.string().min(1).optional(),
});

/** `a2a.yaml`: the agents to which schedules deliver, by name. */
export const targetsSchema = z.object({ targets: z.record(z.string(), targetSchema).nullish() }).default({});

/** Targets that can be called, out of what stands in the file. */
export function toTargets(file: z.output<typeof targetsSchema>): ReadonlyMap<string, RemoteAgent> {
  const entries = Object.entries(file.targets ?? {});
  return new Map(entries.map(([target, entry]) => [target, toAgent(target, entry)]));
}

function toAgent(target: string, entry: z.output<typeof targetSchema>): RemoteAgent {
  const { bearer_token: bearer, api_key: apiKey } = entry;
  return {
    name: target,
    url: entry.url,
    // Hosts are allowed for what a card says, so it has to be read.
    ...(entry.cardHosts === undefined && { protocol: '0.3' as const }),
    ...cardTrust(entry),
    credentials: { ...(bearer !== undefined && { bearer }), ...(apiKey !== undefined && { apiKey }) },
  };
}

/** An agent or model that questions can be delegated to. */
export type Delegate = A2aDelegate | CompatDelegate;

export interface A2aDelegate {
  type: 'a2a';
  name: string;
  description: string;
  agent: RemoteAgent;
}

/** A model behind a compatible chat API. */
export interface CompatDelegate {
  type: 'compat';
  name: string;
  description: string;
  url: string;
  model: string;
  apiKey?: string;
  maxTokens: number;
  temperature: number;
  systemPrompt?: string;
}

const common = { name, description: z.string().trim().min(1), url };

const entrySchema = z.discriminatedUnion('type', [
  z.object({
    ...common,
    ...cardTrustFields,
    type: z.literal('a2a'),
    auth: auth.optional(),
    headers: headers.optional(),
  }),
  z.object({
    ...common,
    type: z.literal('compat'),
    model: z.string().min(1),
    api_key_env: z.string().min(1).optional(),
    max_tokens: z.int().positive().default(400),
    temperature: z.number().min(0).max(2).default(0.4),
    system_prompt: z.string().optional(),
  }),
]);

const delegatesSchema = z.array(entrySchema).superRefine(uniqueNames);

const fileSchema = z.object({ delegates: delegatesSchema.nullish() }).default({});

/** Reads `delegates.yaml`. A missing file yields none. */
export async function loadDelegates(path: string, env: Environment): Promise<Loaded<Delegate>> {
  const file = await loadYaml(path, fileSchema, { env, allowMissing: true });
  return toDelegates(file?.delegates ?? [], env);
}

function toDelegates(entries: z.output<typeof delegatesSchema>, env: Environment): Loaded<Delegate> {
  const warnings: string[] = [];
  return { entries: entries.map((entry) => toDelegate(entry, env, warnings)), warnings };
}

function toDelegate(entry: z.output<typeof entrySchema>, env: Environment, warnings: string[]): Delegate {
  if (entry.type === 'compat') return toCompat(entry, env, warnings);
  const { type, name: target, description, headers: extra } = entry;
  const agent: RemoteAgent = {
    name: target,
    url: entry.url,
    // Hosts are allowed for what a card says, so it has to be read.
    ...(entry.cardHosts === undefined && { protocol: '0.3' as const }),
    ...readCredentials(`delegate ${target}`, entry.auth, env, warnings),
    ...(extra && { headers: extra }),
    ...cardTrust(entry),
  };
  return { type, name: target, description, agent };
}

function toCompat(
  entry: Extract<z.output<typeof entrySchema>, { type: 'compat' }>,
  env: Environment,
  warnings: string[],
): CompatDelegate {
  const { api_key_env: variable, max_tokens: maxTokens, system_prompt: systemPrompt, ...rest } = entry;
  const apiKey = variable === undefined ? undefined : readVariable(variable, env);
  if (variable !== undefined && apiKey === undefined) {
    warnings.push(`delegate ${entry.name}: the variable ${variable} that holds its key is not set`);
  }
  return {
    ...rest,
    maxTokens,
    ...(apiKey !== undefined && { apiKey }),
    ...(systemPrompt !== undefined && { systemPrompt }),
  };
}
