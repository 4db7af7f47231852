import { readFile } from 'node:fs/promises';
import {
  ConfigError,
  type Environment,
  lineProblem,
  parseYaml,
  redact,
  removeUnreferenced,
  type SecretStore,
  storePlainSecrets,
  variableText,
} from '@trunkline/config';
import type { AppEnv } from '@trunkline/http';
import {
  createModelGateway,
  type ModelGateway,
  type ModelPrice,
  type ModelsFile,
  profileChange,
  profileOf,
} from '@trunkline/llm';
import { isModelSecret, testGateway } from '@trunkline/setup';
import type { Hono } from 'hono';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { apiKeyVariable } from '../../context.ts';
import { type AgentOptions, agentOptions } from '../../options.ts';
import type { LiveConfig } from '../../setup/config-file.ts';
import type { AgentConfig } from '../../setup/config-schema.ts';
import { type GivenKey, isModelKey, isSameEndpoint, type ModelSettings } from '../../setup/setup.ts';
import { type JsonRoutes, jsonRoutes } from '../json-routes.ts';
import { consoleErrors } from './errors.ts';

export interface ConfigRoutes {
  live: LiveConfig;
  gateway(): ModelGateway;
  /** `models.yaml`, which all services read. */
  models: Pick<ModelsFile, 'save'>;
  /** The model as the files and variables name it now, or as they would with another configuration. */
  settings(config?: AgentConfig): ModelSettings;
  /** Where the model is that answers now: the agent's own, or that of all services in `models.yaml`. */
  settingsInUse(): ModelSettings;
  /** Variables that hold secrets of the service, and stored secrets (`secret:name`) that do. */
  secretVariables(): readonly string[];
  /** Replaces the configuration, with the key of the endpoint that it names. */
  replace(text: string, key: GivenKey | undefined): Promise<void>;
  /** Writes what is given into the files and completes the setup. */
  setUp(given: Partial<ModelSettings>): Promise<void>;
  isSetUp(): boolean;
}

const apiKey = z.string().trim().min(1).optional();
const text = z.string();
const name = z.string().min(1);
const modelGiven = z.object({
  api_base: z.url().optional(),
  api_key: apiKey,
  model: name.optional(),
});

/** Keys and places in lists that lead to a value. */
const path = z.array(z.union([z.string(), z.int().nonnegative()])).min(1);
const changes = z.object({
  api_key: apiKey,
  changes: z
    .array(
      z.discriminatedUnion('op', [
        z.object({ op: z.literal('set'), path, value: z.json() }),
        z.object({ op: z.literal('add'), path, value: z.json() }),
        z.object({ op: z.literal('remove'), path }),
      ]),
    )
    .min(1),
});

const secretStart = '${secret:';
const checkLimitMs = 15_000;
/** A model may have to be loaded first. */
const probeLimitMs = 120_000;
const keyWords =
  'Another `model.api_base` needs its key, as `api_key`: the one that is kept stays with its endpoint.';

/** The live configuration, and the setup of the model. */
export function mountConfig(app: Hono<AppEnv>, routes: ConfigRoutes): void {
  const { live } = routes;
  const read = async () => {
    const text = await readFile(live.file, 'utf8');
    return { file: live.file, text, config: shownConfig(live, text) };
  };
  const changed = (change: (before: string) => Promise<void>) =>
    live.exclusively(async () => change((await read()).text));
  const route = jsonRoutes(app);
  route.get('/api/config', { summary: 'The live configuration' }, read);
  const whole = {
    summary: 'Replace the live configuration',
    description: `Nothing changes when the text is not valid, or when \`before\` is given and is not what stands in the file: then somebody else changed it. ${keyWords}`,
    json: z.object({ text, api_key: apiKey, before: text.optional() }),
  };
  route.put('/api/config', whole, async ({ json: given }) => {
    await changed((before) => {
      if (given.before !== undefined && given.before !== before) throw consoleErrors.config_changed();
      return replace(routes, before, given.text, given.api_key);
    });
    return { ok: true };
  });
  const some = {
    summary: 'Change some values of the live configuration',
    description: `Comments stay; nothing changes when the result is not valid. Tokens and keys go into the stored secrets, and the file refers to them. ${keyWords}`,
    json: changes,
  };
  route.patch('/api/config', some, async ({ json: given }) => {
    await changed((before) =>
      replace(routes, before, withChanges(before, given.changes), given.api_key, 'store secrets'),
    );
    return { ok: true };
  });
  const check = { summary: 'What is wrong with a text as the configuration', json: z.object({ text }) };
  route.post('/api/config/check', check, ({ json }) => ({
    problems: live.check(json.text).map(lineProblem),
  }));
  mountModel(route, routes);
}

/** The configuration in force, with references in place of secrets; a file that somebody broke shows the last good one. */
function shownConfig(live: LiveConfig, text: string): unknown {
  if (!text.includes(secretStart)) return live.config;
  try {
    return live.parse(text, 'show');
  } catch (error) {
    if (error instanceof ConfigError) return redact(live.config);
    throw error;
  }
}

/** The model: what is set, whether it answers, and setting it. */
function mountModel({ get, post, put }: JsonRoutes, routes: ConfigRoutes): void {
  get('/api/config/model', { summary: 'The model that is set' }, () => modelView(routes));
  const trial = { summary: 'Try the model, or the one given', json: modelGiven.nullish() };
  post('/api/config/test-model', trial, ({ json }) => {
    const isOther = Object.keys(json ?? {}).length > 0;
    const gateway = isOther ? createModelGateway(trialSettings(routes, json ?? {})) : routes.gateway();
    return gateway.check(AbortSignal.timeout(checkLimitMs));
  });
  const probe = {
    summary: 'Try what the model can do',
    description:
      'Asks the model, or the one given, for an answer, a tool call and what an image shows: some hundred tokens.',
    json: modelGiven.nullish(),
  };
  post('/api/config/probe-model', probe, async ({ json }) => {
    // Of its own: that of the service hands images to the vision model, and has fallbacks.
    const gateway = createModelGateway(trialSettings(routes, json ?? {}));
    return await testGateway(gateway, AbortSignal.timeout(probeLimitMs));
  });
  const facts = {
    summary: 'Set how a model behaves, for all services; null removes what was set',
    json: z.object({ model: name, facts: profileChange }),
  };
  put('/api/config/model-profile', facts, async ({ json }) => {
    await routes.models.save(json.model, json.facts);
    return { ok: true };
  });
  const setup = { summary: 'Complete the setup', json: modelGiven.nullish() };
  post('/api/config/setup', setup, async ({ json }) => {
    const given = settingsGiven(json ?? {}, routes.settings());
    await routes.live.exclusively(() => routes.setUp(given));
    return { ok: true, setup_complete: true };
  });
}

export type { ModelCheck, ProfileChange } from '@trunkline/llm';
export type { GatewayTest } from '@trunkline/setup';
export type ModelView = ReturnType<typeof modelView>;

function modelView(routes: ConfigRoutes) {
  const { url = '', apiKey: key, model = '' } = routes.settings();
  const inUse = routes.settingsInUse();
  const name = inUse.url === undefined ? undefined : inUse.model;
  return {
    api_base: url,
    model,
    has_key: key !== undefined,
    setup_complete: routes.isSetUp(),
    /** The model that answers, whoever set it; none while the demo model does. */
    model_in_use: name,
    profile: name === undefined ? undefined : profileView(routes.gateway()),
  };
}

/** How the model behaves, in the words and units of `models.yaml`. */
function profileView(gateway: ModelGateway) {
  const profile = profileOf(gateway.languageModel());
  return {
    context_tokens: profile.contextTokens,
    output_tokens: profile.outputTokens,
    tools: profile.tools,
    text_tool_calls: profile.textToolCalls,
    reasoning: profile.reasoning,
    images: profile.images,
    omit_parameters: [...profile.omitParameters],
    first_token_timeout_s: profile.firstTokenMs / 1000,
    idle_timeout_s: profile.idleMs / 1000,
    answer_timeout_s: profile.answerMs / 1000,
    loading_timeout_s: profile.loadingMs / 1000,
    price: profile.price && priceView(profile.price),
  };
}

function priceView({ input, output, cachedInput }: ModelPrice) {
  return { input, output, cachedInput };
}

/** Puts a text in the place of the configuration, unless it would carry a secret of the service elsewhere. */
async function replace(
  routes: ConfigRoutes,
  before: string,
  after: string,
  given: string | undefined,
  plain?: 'store secrets',
): Promise<void> {
  const { url } = routes.settings(routes.live.parse(after));
  refuseOtherEndpoint(url, given, routes.settings());
  const named = newlyNamed(routes.secretVariables(), before, after);
  if (named !== undefined) throw consoleErrors.secret_named({ name: named });
  const { store } = routes.live;
  const text = plain === undefined ? after : storePlainSecrets(after, { store, prefix: 'agent', before });
  await routes.replace(text, given === undefined ? undefined : { apiKey: given, url: url ?? '' });
  if (plain !== undefined) removeUnreferenced(before, text, { store, prefix: 'agent' });
}

/** A stored key belongs to its endpoint: another endpoint needs a key of its own. */
function refuseOtherEndpoint(url: string | undefined, given: string | undefined, kept: ModelSettings): void {
  if (url === undefined || given !== undefined || kept.apiKey === undefined) return;
  if (!isSameEndpoint(url, kept.url)) throw consoleErrors.model_key_needed({ place: url });
}

/** What a trial uses: the model that answers now, but for what is given. No key but its own goes to another address. */
function trialSettings(routes: ConfigRoutes, given: z.output<typeof modelGiven>): ModelSettings {
  const own = routes.settings();
  return {
    ...(given.api_base === undefined ? routes.settingsInUse() : own),
    ...settingsGiven(given, own),
  };
}

function settingsGiven(
  { api_base, api_key, model }: z.output<typeof modelGiven>,
  kept: ModelSettings,
): Partial<ModelSettings> {
  refuseOtherEndpoint(api_base, api_key, kept);
  return {
    ...(api_base !== undefined && { url: api_base }),
    ...(api_key !== undefined && { apiKey: api_key }),
    ...(model !== undefined && { model }),
  };
}

/** The text with some values changed; comments stay where they are. */
function withChanges(text: string, list: z.output<typeof changes>['changes']): string {
  const document = parseDocument(text);
  for (const change of list) {
    if (change.op === 'remove') document.deleteIn(change.path);
    else if (change.op === 'set' || !document.hasIn(change.path)) {
      document.setIn(change.path, document.createNode(change.op === 'set' ? change.value : [change.value]));
    } else document.addIn(change.path, document.createNode(change.value));
  }
  return String(document);
}

/** The variables in which this service keeps its own secrets, and the stored ones that they or the setup refer to. */
export function secretVariables(
  { agentName }: Pick<AgentOptions, 'agentName'>,
  store: SecretStore,
  env: Environment | undefined,
): string[] {
  const secrets = Object.values(agentOptions.options).filter(({ secret }) => secret);
  const variables = [...secrets.flatMap(({ env }) => env), apiKeyVariable(agentName)];
  const referred = variables.flatMap((name) =>
    [...(variableText(name, env) ?? '').matchAll(/\$\{(secret:[^}]*)\}/g)].map(
      ([, reference = '']) => reference,
    ),
  );
  const keys = store
    .list()
    .flatMap(({ name }) => (isModelKey(name) || isModelSecret(name) ? [`secret:${name}`] : []));
  return [...variables, ...referred, ...keys];
}

/**
 * The variable of those named that a new text of the configuration puts where it did not stand before. An entry may
 * keep such a variable only as it was: its address might have changed.
 */
function newlyNamed(names: readonly string[], before: string, after: string): string | undefined {
  return names.find((name) => {
    const known = new Set(entriesNaming(name, before));
    return entriesNaming(name, after).some((entry) => !known.has(entry));
  });
}

function entriesNaming(name: string, text: string): string[] {
  const reference = new RegExp(String.raw`\$\{${name.replaceAll('.', '\\.')}(?![\w.-])`);
  return entriesOf(unexpanded(text))
    .map((entry) => JSON.stringify(entry))
    .filter((entry) => reference.test(entry));
}

/** A file that somebody broke names nothing. */
function unexpanded(text: string): unknown {
  try {
    return parseYaml(text, z.unknown(), { file: '', expand: false });
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Items of lists, which hold an address and its secret together, and single values. */
function entriesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  if (Array.isArray(value)) return value;
  return Object.entries(value).flatMap(([key, part]) => entriesOf(part).map((entry) => ({ [key]: entry })));
}
