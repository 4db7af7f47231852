import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import {
  ConfigError,
  type Environment,
  type Logger,
  removeUnreferenced,
  type SecretStore,
  secretReference,
} from '@trunkline/config';
import { findModelFile, modelFileName, modelFiles } from '@trunkline/gguf';
import { keptFacts, ModelsFile, modelRoles } from '@trunkline/llm';
import {
  BoundedMap,
  type ModelList,
  type ModelPlace,
  type ModelTest,
  type ModelUnderTest,
  type SavedModel,
  type SetModel,
  type SetupRole,
  type SetupSteps,
  type SetupView,
} from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { completeUrl, providerPresets } from './providers.ts';
import {
  failed,
  type GatewayTest,
  type KnownPlace,
  listModels,
  testModel,
  testModelFile,
} from './try-model.ts';

/** The settings of a service that win over models.yaml. */
export interface SetupOptions {
  trunklineHome: string;
  llmGatewayUrl: string | undefined;
  llmHeaders?: Readonly<Record<string, string>> | undefined;
  llmModel: string | undefined;
  llmFastModel: string | undefined;
  llmJudgeModel: string | undefined;
  llmVisionModel: string | undefined;
  llmGguf: string | undefined;
  llmGgufThreads?: number | undefined;
  /** Of the voice alone. */
  llmUrl?: string | undefined;
  /** Of the switchboard alone. */
  embedModel?: string | undefined;
}

export interface SetupDeps {
  /** The settings as they are now, without what a model file put in their place. */
  options: SetupOptions;
  secrets: SecretStore;
  env?: Environment | undefined;
  logger: Logger;
  /** Whether a service of this home answers there: it would ask itself. */
  isOwn?: (url: string) => boolean;
  /** What else wins over models.yaml, in this service or one beside it. */
  overrides?: (() => SetupView['overrides']) | undefined;
}

const steps = ['model', 'speech', 'search', 'connector', 'result'] as const;

const stepStates = z.partialRecord(z.enum(steps), z.enum(['done', 'skipped', 'open']));

/** What is kept in `setup.json` of the home, and what `PUT /operator/setup/steps` takes. */
export const setupSteps = z.object({ steps: stepStates.default({}), result: z.string().max(100).optional() });

const mostFound = 50;

/** Names of stored keys of models begin with this. */
const keyPrefix = 'model';

/** Whether a stored secret is the key of a model that was set up here. */
export function isModelSecret(name: string): boolean {
  return new RegExp(`^${keyPrefix}-.+-[0-9a-f]{6}$`).test(name);
}

/** What an installation has been set up with, for all services of its home: `models.yaml`, the stored secrets and `setup.json`. */
export class Setup {
  readonly #deps: SetupDeps;
  readonly #home: string;
  readonly #stepsFile: string;
  /** What tests found, for when the model is saved. */
  readonly #found = new BoundedMap<string, GatewayTest['facts']>(mostFound);

  constructor(deps: SetupDeps) {
    this.#deps = deps;
    this.#home = deps.options.trunklineHome;
    this.#stepsFile = join(this.#home, 'setup.json');
  }

  /** Fails with a ConfigError when models.yaml cannot be used. */
  async view(service: string): Promise<SetupView> {
    const file = this.#modelFile();
    const roles = rolesOf(this.#models());
    const all = [...variableOverrides(this.#deps.options), ...(this.#deps.overrides?.() ?? [])];
    const overrides = [...new Map(all.map((override) => [override.setting, override])).values()];
    const isSet =
      file !== undefined || roles.chat?.url !== undefined || this.#deps.options.llmGatewayUrl !== undefined;
    const kept = await this.#readSteps();
    const open = {
      model: 'open',
      speech: 'open',
      search: 'open',
      connector: 'open',
      result: 'open',
    } as const;
    return {
      service,
      steps: { ...open, ...kept.steps, ...(isSet && { model: 'done' }) },
      ...(kept.result !== undefined && { result: kept.result }),
      roles,
      ...(file !== undefined && { file }),
      overrides,
      providers: [...providerPresets],
      files: modelFiles(this.#home).map((path) => ({
        name: modelFileName(path),
        path,
        bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0,
      })),
      folder: join(this.#home, 'models'),
    };
  }

  /** The models at an address, with the key that is stored for it when none is given. */
  async list(place: ModelPlace, signal: AbortSignal): Promise<ModelList> {
    const problem = this.#ownWords(place.url);
    if (problem !== undefined) return { ok: false, url: place.url, models: [], problem };
    return listModels(this.#withKey(place), signal);
  }

  async test(given: ModelUnderTest, signal: AbortSignal): Promise<ModelTest> {
    const { logger, options } = this.#deps;
    if ('file' in given)
      return testModelFile(given.file, { home: this.#home, logger, threads: options.llmGgufThreads }, signal);
    const problem = this.#ownWords(given.url);
    if (problem !== undefined) return failed(problem);
    const { facts, ...tested } = await testModel({ ...this.#withKey(given), model: given.model }, signal);
    if (tested.ok && facts !== undefined) this.#found.set(foundKey(given.url, given.model), facts);
    return tested;
  }

  /** Writes a model into models.yaml and its key into the stored secrets. Fails with a ConfigError that says what is wrong. */
  async save(given: SavedModel): Promise<void> {
    const models = this.#models();
    const before = textOf(models.file);
    if ('file' in given) await models.saveRole('chat', fileSection(given.file));
    else if (given.model === null) {
      const { model } = models.role(given.role) ?? {};
      await models.saveRole(given.role, undefined);
      const isUsed = modelRoles.some((role) => models.role(role)?.model === model);
      if (model !== undefined && !isUsed) await models.forget(model, keptFacts);
      // Whoever goes back to the demo model need not be asked again.
      if (given.role === 'chat') await this.setSteps({ steps: { model: 'skipped' } });
    } else {
      await models.saveRole(given.role, this.#section(given));
      await this.#saveFound(models, given.model, given.url);
    }
    removeUnreferenced(before, textOf(models.file), { store: this.#deps.secrets, prefix: keyPrefix });
  }

  async #saveFound(models: ModelsFile, model: string, url = ''): Promise<void> {
    const found = this.#found.get(foundKey(url, model)) ?? {};
    const facts = keptFacts.flatMap((name) => (found[name] === undefined ? [] : [[name, found[name]]]));
    if (facts.length > 0) await models.save(model, Object.fromEntries(facts));
  }

  #ownWords(given: string): string | undefined {
    const url = URL.parse(completeUrl(given) ?? '');
    if (url?.hostname === 'localhost') url.hostname = '127.0.0.1';
    if (url === null || this.#deps.isOwn?.(url.href) !== true) return undefined;
    return `At ${url.host} is Trunkline itself, which needs a model to answer. Give the address of a model server.`;
  }

  async setSteps(given: SetupSteps): Promise<void> {
    const kept = await this.#readSteps();
    const next = { ...kept, ...given, steps: { ...kept.steps, ...given.steps } };
    await writeFileAtomic(this.#stepsFile, `${JSON.stringify(next, undefined, 2)}\n`, { mode: 0o600 });
  }

  #section({ role, model, url: given, apiKey }: Extract<SavedModel, { model: string }>) {
    if (given === undefined) {
      if (role === 'chat') throw refusal('The chat model needs an address.');
      return { model: literal(model) };
    }
    const url = completeUrl(given);
    if (url === undefined) throw refusal(`"${given}" is no address of an API.`);
    const own = this.#ownWords(url);
    if (own !== undefined) throw refusal(own);
    const name = secretNameOf(url);
    const key = apiKey ?? this.#storedKey(url);
    const section = { model: literal(model), url: literal(url) };
    if (key === undefined || key === '') return section;
    this.#deps.secrets.set(name, key);
    return { ...section, api_key: secretReference(name) };
  }

  #withKey(place: ModelPlace): KnownPlace {
    const url = completeUrl(place.url) ?? place.url;
    const { llmGatewayUrl, llmHeaders } = this.#deps.options;
    const models = this.#models();
    const role = modelRoles.find((each) => models.role(each)?.url === url && models.role(each)?.headers);
    const headers = url === llmGatewayUrl ? llmHeaders : role && models.role(role)?.headers;
    return { url: place.url, apiKey: place.apiKey ?? this.#storedKey(url), headers };
  }

  /** A stored key belongs to its endpoint, and goes to no other. */
  #storedKey(url: string): string | undefined {
    const models = this.#models();
    const isSame = (role: SetupRole) => models.role(role)?.url === url;
    const role = modelRoles.find((each) => isSame(each) && models.role(each)?.api_key !== undefined);
    return role && models.role(role)?.api_key;
  }

  #models(): ModelsFile {
    const { env, logger } = this.#deps;
    return new ModelsFile({ home: this.#home, env, logger });
  }

  #modelFile(): string | undefined {
    return findModelFile(this.#deps.options, this.#deps.env);
  }

  async #readSteps(): Promise<z.output<typeof setupSteps>> {
    const kept = setupSteps.safeParse((await readJsonFile(this.#stepsFile)) ?? {});
    return kept.data ?? { steps: {} };
  }
}

function rolesOf(models: ModelsFile): Partial<Record<SetupRole, SetModel>> {
  const entries = modelRoles.flatMap((role) => {
    const set = models.role(role);
    if (set === undefined) return [];
    const { model, url, api_key } = set;
    return [[role, { model, ...(url !== undefined && { url }), hasKey: api_key !== undefined }] as const];
  });
  return Object.fromEntries(entries);
}

/** Each variable that is set, and the role for which it wins over models.yaml. */
export function variableOverrides(options: SetupOptions): SetupView['overrides'] {
  const set: [setting: string, role: SetupRole, value: string | undefined][] = [
    ['LLM_GATEWAY_URL', 'chat', options.llmGatewayUrl],
    ['LLM_URL', 'chat', options.llmUrl],
    ['LLM_GGUF', 'chat', options.llmGguf],
    ['LLM_MODEL', 'chat', options.llmModel],
    ['LLM_FAST_MODEL', 'helper', options.llmFastModel],
    ['LLM_JUDGE_MODEL', 'judge', options.llmJudgeModel],
    ['LLM_VISION_MODEL', 'vision', options.llmVisionModel],
    ['EMBED_MODEL', 'embeddings', options.embedModel],
  ];
  return set.flatMap(([setting, role, value]) =>
    value === undefined
      ? []
      : [
          {
            setting,
            role,
            words: `${setting} is set and wins over what is chosen here. Remove it from the environment, .env or settings.yaml to change that.`,
          },
        ],
  );
}

function fileSection(file: string) {
  if (!isAbsolute(file)) throw refusal(`Give the whole path of the file: ${file} begins nowhere.`);
  if (!/\.gguf$/i.test(file)) throw refusal(`${file} is no .gguf file.`);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw refusal(`There is no file ${file}.`);
  return { model: literal(modelFileName(file)), file: literal(file) };
}

/** The key of each endpoint has its own name, so that none is ever read in place of another. */
function secretNameOf(url: string): string {
  const host = (URL.parse(url)?.host ?? '').replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 60);
  const digest = createHash('sha256').update(url).digest('hex').slice(0, 6);
  return `${keyPrefix}-${host}-${digest}`;
}

function foundKey(url: string, model: string): string {
  return `${completeUrl(url) ?? url}\n${model}`;
}

/** A value as it is, not as the name of a variable. */
function literal(value: string): string {
  return value.replaceAll(`\${`, () => `$\${`);
}

function textOf(file: string): string {
  return statSync(file, { throwIfNoEntry: false }) === undefined ? '' : readFileSync(file, 'utf8');
}

function refusal(words: string): ConfigError {
  return new ConfigError('The model cannot be saved:', [words]);
}
