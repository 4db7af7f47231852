import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, type Environment, type Logger, parseYaml, watchYaml } from '@trunkline/config';
import { writeFileAtomic } from '@trunkline/storage';
import { type AgentConfig, type AgentSecrets, configSchema, secretsSchema } from './config-schema.ts';
import { exampleConfig } from './example.ts';

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
  readonly config: AgentConfig;
  readonly secrets: AgentSecrets;
  /** Told after each good change of either file. */
  onChange(listener: () => void): void;
  /** What is wrong with a text as the configuration, each as file:line:column: words; nothing when it could be used. */
  check(text: string): readonly string[];
  /** Replaces the file once the text has proved to be a valid configuration. */
  write(text: string): Promise<AgentConfig>;
  close(): Promise<void>;
}

/** Follows the two files. The configuration is created with comments when there is none. */
export async function openLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const { directory, file, logger } = options;
  await createFolders(directory);
  if (!existsSync(file)) await writeFileAtomic(file, exampleConfig);
  const listeners: (() => void)[] = [];
  const tell = () => {
    for (const listener of listeners) listener();
  };
  const settings = {
    ...(options.env && { env: options.env }),
    onChange: tell,
    onError: (error: Error) => logger.error({ err: error }, 'the configuration stays as it was'),
  };
  const config = await watchYaml(file, configSchema, settings);
  const secrets = await watchYaml(join(directory, 'secrets.yaml'), secretsSchema, {
    ...settings,
    allowMissing: true,
  });
  const parse = (text: string) =>
    parseYaml(text, configSchema, { file, ...(options.env && { env: options.env }) });
  return {
    file,
    get config() {
      return config.value;
    },
    get secrets() {
      return secrets.value ?? secretsSchema.parse({});
    },
    onChange: (listener) => void listeners.push(listener),
    check(text) {
      try {
        parse(text);
        return [];
      } catch (error) {
        if (error instanceof ConfigError) return error.problems;
        throw error;
      }
    },
    async write(text) {
      const parsed = parse(text);
      await writeFileAtomic(file, text);
      return parsed;
    },
    async close() {
      await config.close();
      await secrets.close();
    },
  };
}

async function createFolders(directory: string): Promise<void> {
  for (const name of ['skills', 'plugins']) await mkdir(join(directory, name), { recursive: true });
}
