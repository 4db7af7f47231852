import { type Environment, loadYaml, readVariable } from '@trunkline/config';
import { z } from 'zod';
import type { RemoteAgent } from '../client/remote-agent.ts';
import { auth, headers, type Loaded, name, readCredentials, uniqueNames, url } from './credentials.ts';

/** Someone to whom a question can be handed. */
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
  z.object({ ...common, type: z.literal('a2a'), auth: auth.optional(), headers: headers.optional() }),
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
    protocol: '0.3',
    ...readCredentials(`delegate ${target}`, entry.auth, env, warnings),
    ...(extra && { headers: extra }),
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
