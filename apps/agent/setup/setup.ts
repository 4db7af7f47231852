import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ConfigError,
  type Environment,
  type Logger,
  loadYaml,
  type SecretStore,
  SecretStoreError,
  secretReference,
} from '@trunkline/config';
import { createModelGateway, gatewaySettings, type ModelGateway } from '@trunkline/llm';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { ifExists, writeFileAtomic } from '@trunkline/storage';
import { parseDocument } from 'yaml';
import type { AgentOptions } from '../options.ts';
import { type LiveConfig, openLiveConfig } from './config-file.ts';
import { type AgentConfig, type AgentSecrets, configSchema, secretsSchema } from './config-schema.ts';
import { configDirectoryOf, configFileOf } from './places.ts';

/** The model as the configuration, its secrets and the variables together name it. */
export interface ModelSettings {
  url: string | undefined;
  apiKey: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  model: string | undefined;
  fastModel?: string | undefined;
}

type ModelVariables = Pick<
  AgentOptions,
  'llmGatewayUrl' | 'llmApiKey' | 'llmHeaders' | 'llmModel' | 'llmFastModel' | 'coreModel'
>;

interface ModelOptions extends ModelVariables {
  /** The variables themselves, where those above are of a model file. */
  withoutModelFile?: ModelVariables;
}

export function modelSettings(
  options: ModelOptions,
  config: AgentConfig,
  secrets: AgentSecrets,
): ModelSettings {
  const url = firstGiven(config.model.api_base, options.llmGatewayUrl);
  // Key and name of a model file go to its address only.
  const isElsewhere = !isSameEndpoint(url, options.llmGatewayUrl);
  const { llmApiKey, llmModel, llmFastModel } = (isElsewhere && options.withoutModelFile) || options;
  return {
    url,
    apiKey: keyFor(url, secrets.model, firstGiven(llmApiKey)),
    headers: isElsewhere ? undefined : options.llmHeaders,
    model: firstGiven(options.coreModel, config.model.name, llmModel),
    fastModel: firstGiven(llmFastModel),
  };
}

/** Settings of the agent alone that win over models.yaml. */
export function modelOverrides(
  { model, knowledge }: AgentConfig,
  { coreModel }: Pick<AgentOptions, 'coreModel'>,
) {
  const own = "the agent's configuration";
  const set: [setting: string, role: 'chat' | 'embeddings', value: string | undefined, place: string][] = [
    ['model.api_base', 'chat', model.api_base, own],
    ['model.name', 'chat', model.name, own],
    ['CORE_MODEL', 'chat', coreModel, 'the environment, .env or settings.yaml'],
    ['knowledge.embeddings', 'embeddings', knowledge.embeddings, own],
  ];
  return set.flatMap(([setting, role, value, place]) =>
    firstGiven(value) === undefined
      ? []
      : [
          {
            setting,
            role,
            words: `${setting} is set for the agent and wins over what is chosen here. Remove it from ${place} to change that.`,
          },
        ],
  );
}

/** Asks the model of the agent where its configuration or CORE_MODEL names another than the variables do, and probes it if it answers. */
export async function diagnoseOwnModel(
  options: AgentOptions,
  env: Environment,
  {
    signal,
    probe,
  }: {
    signal: AbortSignal;
    probe(gateway: ModelGateway, subject: string): Promise<Diagnosis[]>;
  },
): Promise<Diagnosis[]> {
  const subject = 'model of the agent';
  try {
    const how = { allowMissing: true, env } as const;
    const config = await loadYaml(configFileOf(options), configSchema, how);
    const secrets = await loadYaml(join(configDirectoryOf(options), 'secrets.yaml'), secretsSchema, how);
    const { url, apiKey, headers, model } = modelSettings(
      options,
      config ?? configSchema.parse({}),
      secrets ?? secretsSchema.parse({}),
    );
    const shared = gatewaySettings(options, { env });
    const own = gatewaySettings(
      { ...options, llmGatewayUrl: url, llmApiKey: apiKey, llmHeaders: headers, llmModel: model },
      { env },
    );
    const isShared = isSameEndpoint(own.url, shared.url) && own.model === shared.model;
    if (own.url === undefined || isShared) return [];
    const gateway = createModelGateway({
      ...own,
      file: 'agent.yaml',
      roles: undefined,
      visionModel: undefined,
    });
    const { ok, message } = await gateway.check(signal);
    if (ok) return [{ subject, state: 'ok', words: message }, ...(await probe(gateway, subject))];
    const advice = 'The agent alone uses it: the page Settings of its console names it, or CORE_MODEL.';
    return [{ subject, state: 'failed', words: message, advice }];
  } catch (error) {
    const advice = 'Mend agent.yaml, or secrets.yaml beside it.';
    return [{ subject, state: 'failed', words: errorMessage(error), advice }];
  }
}

/** Fails with all that a setup lacks, each with the way to mend it. */
function requireSetup({ url, apiKey }: ModelSettings): void {
  const missing = [
    url === undefined && 'model.api_base is not set: write it into the configuration, or set LLM_GATEWAY_URL',
    apiKey === undefined &&
      `there is no API key${url === undefined ? '' : ` for ${url}`}: set LLM_API_KEY, or model.api_key in secrets.yaml (with model.api_base beside it, the key goes there alone)`,
  ].filter((problem) => problem !== false);
  if (missing.length > 0) throw new ConfigError('The setup of the agent is not complete:', missing);
}

export function isSetupComplete(directory: string): boolean {
  return existsSync(markerIn(directory));
}

/** Checks what a setup needs and marks it complete; fails with all that is missing. */
export async function completeSetup(directory: string, settings: ModelSettings): Promise<void> {
  requireSetup(settings);
  await writeFileAtomic(markerIn(directory), `${new Date().toISOString()}\n`);
}

function markerIn(directory: string): string {
  return join(directory, '.setup-complete');
}

function firstGiven(...texts: (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text.trim() !== '');
}

/**
 * The key that may be sent to an endpoint. One that was given for an endpoint stays with it; one that the owner of the
 * machine wrote into secrets.yaml or a variable goes where the files on the machine say.
 */
function keyFor(
  url: string | undefined,
  { api_key, api_base }: AgentSecrets['model'],
  variable: string | undefined,
): string | undefined {
  if (api_key.trim() === '') return variable;
  return api_base === '' || isSameEndpoint(api_base, url) ? api_key : undefined;
}

/** How the host is written and slashes at the end make no difference; another path may be another customer's. */
export function isSameEndpoint(left: string | undefined, right: string | undefined): boolean {
  return placeOf(left) === placeOf(right);
}

function placeOf(url = ''): string {
  return (URL.canParse(url) ? new URL(url).href : url).replace(/\/+$/, '');
}

const MODEL_KEY = 'agent-model-key-';

/** Whether a stored secret is the key of a model that was set up on the page. */
export function isModelKey(name: string): boolean {
  return name.startsWith(MODEL_KEY);
}

/** A key with the endpoint it is for. */
export interface GivenKey {
  apiKey: string;
  url: string;
}

/** Puts what is given of the model into the files, the key into the store, referred to by secrets.yaml, and completes the setup. */
export async function writeSetup(
  live: LiveConfig,
  directory: string,
  settings: ModelSettings,
  given: Partial<ModelSettings>,
): Promise<void> {
  const wanted = { ...settings, ...given };
  requireSetup(wanted);
  const text = withValues(await readFile(live.file, 'utf8'), [
    [['model', 'api_base'], given.url],
    [['model', 'name'], given.model],
  ]);
  const key = given.apiKey === undefined ? undefined : { apiKey: given.apiKey, url: wanted.url ?? '' };
  await writeConfig(live, text, key);
  await completeSetup(directory, wanted);
}

const FORMER_KEY = new RegExp(`\\$\\{secret:(${MODEL_KEY}[0-9a-f]{8})\\}`);

/** Replaces the configuration, with the key of the endpoint that it names. */
export async function writeConfig(live: LiveConfig, text: string, key: GivenKey | undefined): Promise<void> {
  const before = (await ifExists(readFile(live.secretsFile, 'utf8'))) ?? '';
  const secrets = key && (await secretsWith(live, key));
  await live.write(text, secrets);
  // The key of an endpoint that is no longer named could not be used again.
  const [, former = ''] = FORMER_KEY.exec(before) ?? [];
  if (secrets !== undefined && former !== '' && !secrets.includes(secretReference(former)))
    live.store.remove(former);
}

/**
 * The text of the secrets with a reference to another key, which goes to its endpoint alone: the key of each endpoint has
 * its own name in the store, so that none is ever read in place of another.
 */
async function secretsWith({ secretsFile, store }: LiveConfig, { apiKey, url }: GivenKey): Promise<string> {
  const before = (await ifExists(readFile(secretsFile, 'utf8'))) ?? '';
  const digest = createHash('sha256')
    .update(`${secretsFile}\0${placeOf(url)}`)
    .digest('hex');
  const name = `${MODEL_KEY}${digest.slice(0, 8)}`;
  storeKey(store, name, apiKey);
  const document = parseDocument(withValues(before, [[['model', 'api_base'], url]]));
  document.setIn(['model', 'api_key'], secretReference(name));
  return String(document);
}

function storeKey(store: SecretStore, name: string, value: string): void {
  try {
    store.set(name, value);
  } catch (error) {
    if (!(error instanceof SecretStoreError)) throw error;
    throw new ConfigError('The key cannot be stored:', [error.message], { cause: error });
  }
}

/** The text with some values set as they are, not as names of variables; comments stay where they are. */
function withValues(text: string, values: [path: string[], value: string | undefined][]): string {
  const document = parseDocument(text);
  const given = values.flatMap(([path, value]) => (value === undefined ? [] : [{ path, value }]));
  for (const { path, value } of given)
    document.setIn(
      path,
      value.replaceAll(`\${`, () => `$\${`),
    );
  return given.length === 0 ? text : String(document);
}

/** Checks the configuration and marks the setup complete; gives what to tell, or fails with what is missing. */
export async function runSetup(
  options: AgentOptions,
  env: Environment | undefined,
  logger: Logger,
): Promise<string> {
  const directory = configDirectoryOf(options);
  const live = await openLiveConfig({ directory, file: configFileOf(options), env, logger });
  try {
    await completeSetup(directory, modelSettings(options, live.config, live.secrets));
    return `The setup is complete; ${live.file} is valid.`;
  } finally {
    await live.close();
  }
}
