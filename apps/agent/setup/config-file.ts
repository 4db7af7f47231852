import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  ConfigError,
  type Environment,
  type Logger,
  parseYaml,
  type SecretStore,
  secretStoreOf,
  watchYaml,
} from '@trunkline/config';
import { Mutex } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import type { z } from 'zod';
import { type AgentConfig, type AgentSecrets, configSchema, secretsSchema } from './config-schema.ts';

export interface LiveConfigOptions {
  directory: string;
  /** The configuration itself. */
  file: string;
  env: Environment | undefined;
  logger: Logger;
}

/** The configuration and its secrets as they stand in their files; a broken change leaves the last good one. */
export interface LiveConfig {
  readonly file: string;
  readonly secretsFile: string;
  readonly config: AgentConfig;
  readonly secrets: AgentSecrets;
  /** Where keys go that a page saves; the files refer to it. */
  readonly store: SecretStore;
  /** Calls the listener after each good change of either file. */
  onChange(listener: () => void): void;
  /** The configuration that a text would make; fails with all that is wrong with it. With `show`, references to secrets stay. */
  parse(text: string, secrets?: 'resolve' | 'show'): AgentConfig;
  /** The problems of a text as the configuration, each as `file:line:column: message`; empty when it is valid. */
  check(text: string): readonly string[];
  /** Replaces the file, and that of the secrets where they are given, once both have proved valid; both count at once. */
  write(text: string, secretsText?: string): Promise<void>;
  /** Runs one change at a time, so that each sees what the one before it wrote. */
  exclusively<Result>(change: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

interface Contents {
  config: AgentConfig;
  secrets: AgentSecrets;
}

const ownerOnly = 0o600;

/** Follows the two files. The configuration is created with comments when there is none. */
export async function openLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const { directory, file } = options;
  await createFolders(directory);
  if (!existsSync(file)) await writeFileAtomic(file, exampleConfig, { mode: ownerOnly });
  const secretsFile = join(directory, 'secrets.yaml');
  const { contents, take, onChange, close } = await follow(file, secretsFile, options);
  const env = options.env && { env: options.env };
  const read = <Schema extends z.ZodType>(
    text: string,
    schema: Schema,
    path: string,
    secrets: 'resolve' | 'show' = 'resolve',
  ) => parseYaml(text, schema, { file: path, secrets, ...env });
  const mutex = new Mutex();
  const parse = (text: string, secrets?: 'resolve' | 'show') => read(text, configSchema, file, secrets);
  return {
    file,
    secretsFile,
    get config() {
      return contents.config;
    },
    get secrets() {
      return contents.secrets;
    },
    store: secretStoreOf(options.env),
    onChange,
    parse,
    check: (text) => problemsOf(() => parse(text)),
    async write(text, secretsText) {
      const secrets = secretsText === undefined ? undefined : read(secretsText, secretsSchema, secretsFile);
      const config = parse(text);
      if (secretsText !== undefined) await writeFileAtomic(secretsFile, secretsText, { mode: ownerOnly });
      // MCP servers may have keys in their headers.
      await writeFileAtomic(file, text, { mode: ownerOnly });
      take({ config, ...(secrets && { secrets }) });
    },
    exclusively: (change) => mutex.run(change),
    close,
  };
}

/** The contents of both files; listeners are called once for each change. */
async function follow(file: string, secretsFile: string, { env, logger }: LiveConfigOptions) {
  const listeners: (() => void)[] = [];
  const contents: Partial<Contents> = {};
  const take = (news: Partial<Contents>) => {
    if (isDeepStrictEqual({ ...contents, ...news }, contents)) return;
    Object.assign(contents, news);
    for (const listener of listeners) listener();
  };
  const settings = {
    ...(env && { env }),
    onError: (error: Error) =>
      logger.error({ err: error }, 'failed to reload the configuration; keeping the last good one'),
  };
  const configWatch = await watchYaml(file, configSchema, {
    ...settings,
    onChange: (config) => take({ config }),
  });
  const secretsWatch = await watchYaml(secretsFile, secretsSchema, {
    ...settings,
    allowMissing: true,
    onChange: (secrets = noSecrets) => take({ secrets }),
  });
  contents.config ??= configWatch.value;
  contents.secrets ??= secretsWatch.value ?? noSecrets;
  return {
    contents: contents as Contents,
    take,
    onChange: (listener: () => void) => void listeners.push(listener),
    async close() {
      await configWatch.close();
      await secretsWatch.close();
    },
  };
}

const noSecrets = secretsSchema.parse({});

function problemsOf(parse: () => AgentConfig): readonly string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

async function createFolders(directory: string): Promise<void> {
  for (const name of ['skills', 'plugins']) await mkdir(join(directory, name), { recursive: true });
}

/** The configuration of a first start: everything has a default, so all of it may stay as it is. */
const exampleConfig = `# The live configuration of the agent. Changes take effect when the file is saved; a mistake is named in
# the log and leaves the last good version in force. \${NAME} and \${NAME:-otherwise} stand for variables.

model:
  name: \${LLM_MODEL:-}
  api_base: \${LLM_GATEWAY_URL:-}
  # temperature: 0.3
  # max_tokens: 4000

identity:
  name: ""
  persona: ""

# What one turn may use up at most.
budget:
  steps: 25
  # tokens: 200000
  # cost_usd: 0.50

# Helpers that the agent may hand parts of its work to.
subagents:
  - name: worker
    description: Does one self-contained piece of work and reports the result.

# tools: { disabled: [web_search] }
# plugins: { enabled: [] }
# mcp: { servers: [] }
# delegates: []
`;
