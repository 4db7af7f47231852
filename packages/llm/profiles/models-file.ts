import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type Environment, parseYaml, requestHeaders } from '@trunkline/config';
import { BoundedMap, errorMessage, systemCode } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { type Document, parseDocument } from 'yaml';
import { z } from 'zod';
import type { Logger } from '../retry.ts';
import { matchesName } from './prices.ts';
import type { ModelProfile } from './profile.ts';

/** What models are used for. */
export const modelRoles = ['chat', 'helper', 'judge', 'embeddings', 'vision'] as const;
export type ModelRole = (typeof modelRoles)[number];

const seconds = z.number().positive();
const tokens = z.int().min(256);

const profileSection = z.strictObject({
  context_tokens: tokens.optional(),
  output_tokens: tokens.optional(),
  tools: z.enum(['native', 'prompted', 'none']).optional(),
  reasoning: z.enum(['auto', 'open', 'none']).optional(),
  text_tool_calls: z.boolean().optional(),
  images: z.boolean().optional(),
  omit_parameters: z.array(z.string()).optional(),
  first_token_timeout_s: seconds.optional(),
  idle_timeout_s: seconds.optional(),
  answer_timeout_s: seconds.optional(),
  loading_timeout_s: seconds.optional(),
  /** Dollars for a million tokens. */
  price: z
    .strictObject({
      input: z.number().nonnegative(),
      output: z.number().nonnegative(),
      cachedInput: z.number().nonnegative().optional(),
    })
    .optional(),
});
export type ProfileSection = z.output<typeof profileSection>;

/** What is kept of a test. Not the context window: endpoints are asked for that, and it changes with their settings. */
export const keptFacts = ['tools', 'images'] as const satisfies readonly (keyof ProfileSection)[];
export type KeptFacts = Partial<Pick<ProfileSection, (typeof keptFacts)[number]>>;

/** As a section, but null removes what the file says. */
export const profileChange = z.strictObject(nullable(profileSection.shape));
export type ProfileChange = z.output<typeof profileChange>;

function nullable<Shape extends Record<string, z.ZodType>>(shape: Shape) {
  const entries = Object.entries(shape).map(([name, schema]) => [name, schema.nullable()]);
  return Object.fromEntries(entries) as { [Name in keyof Shape]: z.ZodNullable<Shape[Name]> };
}

const roleSection = z.strictObject({
  model: z.string().min(1),
  /** Another endpoint than LLM_GATEWAY_URL, with its own key. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  api_key: z.string().optional(),
  /** More headers for that endpoint. */
  headers: requestHeaders.optional(),
  /** Of `chat` alone: a model as a GGUF file, which Trunkline runs itself. */
  file: z.string().min(1).optional(),
});
export type RoleModel = z.output<typeof roleSection>;

const roleOrName = z.union([
  z
    .string()
    .min(1)
    .transform((model): RoleModel => ({ model })),
  roleSection,
]);

const schema = z
  .strictObject({
    /** A model's name, or a section with its endpoint. */
    roles: z.partialRecord(z.enum(modelRoles), roleOrName).default({}),
    /** Facts by model name, in which `*` stands for any characters; the whole name wins over a pattern. */
    models: z.record(z.string(), profileSection).default({}),
  })
  .nullish()
  .transform((given) => given ?? { roles: {}, models: {} });

type ModelsConfig = z.output<typeof schema>;

export interface ModelsFileOptions {
  /** TRUNKLINE_HOME: holds `models.yaml`. */
  home: string;
  env?: Environment | undefined;
  logger?: Logger | undefined;
  now?: () => number;
}

/** A look costs a few microseconds; models are asked for many times in a step. */
const checkMs = 20;

const mostProfiles = 100;

/** The operator's models: `models.yaml`, the same for all services, read again whenever it changes. */
export class ModelsFile {
  readonly file: string;
  readonly #options: ModelsFileOptions;
  readonly #now: () => number;
  #config: ModelsConfig;
  /** Put together once for each state of the file: a turn asks for them dozens of times. */
  readonly #profiles = new BoundedMap<string, Readonly<Partial<ModelProfile>>>(mostProfiles);
  #mark: string;
  #checkedAt: number;

  /** Fails with a ConfigError when the file cannot be used. */
  constructor(options: ModelsFileOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.file = join(options.home, 'models.yaml');
    this.#checkedAt = this.#now();
    this.#mark = markOf(this.file);
    this.#config = this.#read();
  }

  /** What the file says now; another object whenever it has changed. */
  get state(): object {
    this.#refresh();
    return this.#config;
  }

  role(role: ModelRole): RoleModel | undefined {
    this.#refresh();
    return this.#config.roles[role];
  }

  /** What the file says of a model; the same object as long as the file stays as it is. */
  profile(modelId: string): Readonly<Partial<ModelProfile>> {
    this.#refresh();
    const known = this.#profiles.get(modelId);
    if (known !== undefined) return known;
    const profile = this.#joinFacts(modelId);
    this.#profiles.set(modelId, profile);
    return profile;
  }

  #joinFacts(modelId: string): Partial<ModelProfile> {
    const { models } = this.#config;
    const patterns = Object.keys(models).filter((name) => name !== modelId && matchesName(name, modelId));
    return Object.assign({}, ...[...patterns, modelId].map((name) => factsOf(models[name] ?? {})));
  }

  /** Writes what is given about one model into the file, or removes it; comments and everything else stay. */
  save(modelId: string, facts: ProfileChange): Promise<void> {
    return this.#change((document) => {
      if (!document.has('models')) document.set('models', document.createNode({}));
      for (const [name, value] of Object.entries(facts)) {
        const place = ['models', modelId, name];
        if (value !== null) document.setIn(place, document.createNode(value));
        else if (document.hasIn(place)) document.deleteIn(place);
      }
    });
  }

  /** What a test found of a model that is to be kept and that the file does not say yet. */
  unsaved(modelId: string, found: ProfileSection): KeptFacts {
    const known = this.profile(modelId);
    const news = keptFacts.filter((name) => found[name] !== undefined && known[name] === undefined);
    return Object.fromEntries(news.map((name) => [name, found[name]]));
  }

  /** Removes what the file says of a model, unless it says more than these facts. */
  async forget(modelId: string, facts: readonly (keyof ProfileSection)[]): Promise<void> {
    const known = Object.keys(this.#config.models[modelId] ?? {}) as (keyof ProfileSection)[];
    if (known.length === 0 || known.some((name) => !facts.includes(name))) return;
    await this.#change((document) => document.deleteIn(['models', modelId]));
  }

  /** Writes the model of a role into the file, or removes it. Values stand there as given: a key is a reference to a secret. */
  saveRole(role: ModelRole, given: RoleModel | undefined): Promise<void> {
    return this.#change((document) => {
      if (given === undefined) {
        if (document.hasIn(['roles', role])) document.deleteIn(['roles', role]);
        return;
      }
      if (!document.has('roles')) document.set('roles', document.createNode({}));
      const isSame = given.url !== undefined && this.#config.roles[role]?.url === given.url;
      const headers = isSame ? document.getIn(['roles', role, 'headers']) : undefined;
      const { model, ...endpoint } = definedOf<RoleModel>({
        url: undefined,
        api_key: undefined,
        headers: undefined,
        file: undefined,
        ...given,
      });
      const section = Object.keys(endpoint).length === 0 ? model : { model, ...endpoint };
      document.setIn(['roles', role], document.createNode(section));
      // Nobody can type them where a model is chosen, so whoever chooses another one there does not remove them.
      if (headers !== undefined && given.headers === undefined)
        document.setIn(['roles', role, 'headers'], headers);
    });
  }

  async #change(edit: (document: Document) => void): Promise<void> {
    const before = textOf(this.file);
    const document = parseDocument(before ?? '');
    edit(document);
    const text = String(document);
    this.#use(this.#parse(text));
    await writeFileAtomic(this.file, text, before === undefined ? { mode: 0o600 } : { over: before });
    this.#mark = markOf(this.file);
  }

  /** A watcher would cost a thread. */
  #refresh(): void {
    if (this.#now() - this.#checkedAt < checkMs) return;
    this.#checkedAt = this.#now();
    const mark = markOf(this.file);
    if (mark === this.#mark) return;
    this.#mark = mark;
    try {
      this.#use(this.#read());
    } catch (error) {
      const facts = { file: this.file, problem: errorMessage(error) };
      this.#options.logger?.warn(facts, 'failed to read models file; the last good one stays');
    }
  }

  #use(config: ModelsConfig): void {
    this.#config = config;
    this.#profiles.clear();
  }

  #read(): ModelsConfig {
    return this.#parse(textOf(this.file) ?? '');
  }

  #parse(text: string): ModelsConfig {
    const { env } = this.#options;
    return parseYaml(text, schema, { file: this.file, ...(env !== undefined && { env }) });
  }
}

/** The facts of a section in the units of a profile. */
function factsOf(section: ProfileSection): Partial<ModelProfile> {
  const facts = {
    contextTokens: section.context_tokens,
    outputTokens: section.output_tokens,
    tools: section.tools,
    reasoning: section.reasoning,
    textToolCalls: section.text_tool_calls,
    images: section.images,
    omitParameters: section.omit_parameters,
    firstTokenMs: inMilliseconds(section.first_token_timeout_s),
    idleMs: inMilliseconds(section.idle_timeout_s),
    answerMs: inMilliseconds(section.answer_timeout_s),
    loadingMs: inMilliseconds(section.loading_timeout_s),
    price: section.price,
  };
  return definedOf(facts);
}

export function inMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/** An object without the fields that are undefined. */
export function definedOf<Facts extends object>(
  facts: {
    [Name in keyof Facts]: Facts[Name] | undefined;
  },
): Partial<Facts> {
  return Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined),
  ) as Partial<Facts>;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
    throw new ConfigError(`${file} cannot be read:`, [errorMessage(error)], { cause: error });
  }
}

function markOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? 'missing' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
