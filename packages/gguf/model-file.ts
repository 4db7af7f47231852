import { readdirSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { ConfigError, type Environment, type Logger } from '@trunkline/config';
import { readOrCreateSecret } from '@trunkline/identity';
import { ModelsFile } from '@trunkline/llm';
import { errorMessage, systemCode } from '@trunkline/std';

/** The settings of a service that decide about a model file. */
export interface ModelFileOptions {
  trunklineHome: string;
  llmGatewayUrl: string | undefined;
  /** An endpoint that only this service has. */
  llmUrl?: string | undefined;
  llmModel: string | undefined;
  llmGguf: string | undefined;
  llmGgufContext: number | undefined;
  llmGgufSequences: number;
  llmGgufThreads: number | undefined;
  llmGgufIdleMinutes: number;
  llmGgufPort: number;
}

/** The settings with which a service reaches the model of the file as it reaches any other. */
interface ModelFileSettings {
  llmGatewayUrl: string;
  llmApiKey: string;
  /** Those of another endpoint are not for this one. */
  llmHeaders?: undefined;
  llmModel: string;
  llmFastModel: string;
}

export interface OpenModelFile {
  settings: ModelFileSettings;
  /** The process that runs the model, if it is a child of this one and loaded. */
  pid(): number | undefined;
  stop(): Promise<void>;
}

interface OpenOptions {
  logger: Logger;
  /** Keeps a secret out of the log. */
  hide?: (secret: string) => void;
  env?: Environment | undefined;
  idleMs?: number;
  silenceMs?: number;
  nodeFlags?: readonly string[];
}

/** Makes the model of the file available, if the settings name one or one lies in the home. It loads once a service looks. */
export async function openModelFile(
  options: ModelFileOptions,
  { logger, hide, env, idleMs = options.llmGgufIdleMinutes * 60_000, ...more }: OpenOptions,
): Promise<OpenModelFile | undefined> {
  const path = options.llmUrl === undefined ? findModelFile(options, env) : undefined;
  if (path === undefined) return undefined;
  const [{ ModelProcess }, { openDoor }] = await Promise.all([
    import('./model-process.ts'),
    import('./door.ts'),
  ]);
  const model = modelFileName(path);
  const key = readOrCreateSecret(options.trunklineHome, 'model-key');
  hide?.(key);
  const { llmGgufContext: contextTokens, llmGgufSequences: sequences, llmGgufThreads: threads } = options;
  const load = { path, contextTokens, sequences, threads };
  const process = new ModelProcess({ load, idleMs, logger, ...more });
  const door = await openDoor({ model, port: options.llmGgufPort, key, process, logger });
  return {
    settings: {
      llmGatewayUrl: door.url,
      llmApiKey: key,
      llmHeaders: undefined,
      llmModel: model,
      llmFastModel: model,
    },
    pid: () => process.pid,
    async stop() {
      await Promise.all([door.stop(), process.stop()]);
    },
  };
}

/**
 * The options of a service with the model of the file, unless they name an endpoint of its own. Those without it stay
 * beside them, for an endpoint that the service's own configuration names: the key of the file is for its address only.
 */
export function withModelFile<Options extends object>(
  options: Options,
  settings: ModelFileSettings | undefined,
): Options {
  if (settings === undefined || ('llmUrl' in options && options.llmUrl !== undefined)) return options;
  return { ...options, ...settings, withoutModelFile: options };
}

type FileOptions = Pick<ModelFileOptions, 'trunklineHome' | 'llmGatewayUrl' | 'llmModel' | 'llmGguf'>;

/**
 * The file that LLM_GGUF names; else, while neither LLM_GATEWAY_URL nor models.yaml sets an endpoint, the one that
 * models.yaml names, or the one in the home that LLM_MODEL or models.yaml names, or the first there.
 */
export function findModelFile(options: FileOptions, env?: Environment): string | undefined {
  const { trunklineHome, llmGatewayUrl, llmGguf, llmModel } = options;
  if (llmGguf !== undefined && llmGatewayUrl !== undefined)
    throw new ConfigError('The settings cannot be used:', [
      'LLM_GGUF and LLM_GATEWAY_URL are both set, so it is not clear which model is meant: unset one of them.',
    ]);
  if (llmGguf !== undefined || llmGatewayUrl !== undefined) return llmGguf;
  const chat = new ModelsFile({ home: trunklineHome, env }).role('chat');
  if (chat?.url !== undefined || chat?.file !== undefined)
    return chat.url === undefined ? chat.file : undefined;
  const files = modelFiles(trunklineHome);
  return files.find((path) => modelFileName(path) === (llmModel ?? chat?.model)) ?? files[0];
}

/** Later parts of a file in parts, and projectors for images, are no models by themselves. */
const noModel = /^mmproj|-0*([2-9]|[1-9]\d+)-of-\d+\.gguf$/i;

/** The model files in the home. */
export function modelFiles(home: string): string[] {
  const directory = join(home, 'models');
  const names = namesIn(directory).filter(
    (name) => name.toLowerCase().endsWith('.gguf') && !noModel.test(name),
  );
  return names.sort().map((name) => join(directory, name));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return [];
    throw error;
  }
}

/** The name under which the model of a file answers. */
export function modelFileName(path: string): string {
  return basename(path).replace(/(-\d+-of-\d+)?\.gguf$/i, '');
}

/** For `trunkline doctor`: the file in words, or what is wrong with it. */
export async function describeModelFile(
  path: string,
  nodeFlags: readonly string[] = [],
): Promise<{ state: 'ok' | 'warning' | 'failed'; words: string; advice?: string }> {
  try {
    const { inspectModelFile } = await import('./model-process.ts');
    const { architecture, trainedTokens } = await inspectModelFile(path, nodeFlags);
    const { size } = statSync(path);
    const window = trainedTokens === undefined ? '' : `, context of up to ${trainedTokens} tokens`;
    const words = `${path}: ${sizeWords(size)}, architecture ${architecture}${window}.`;
    if (size < totalmem()) return { state: 'ok', words };
    const advice = `The machine has ${sizeWords(totalmem())} of memory, less than the file: use a smaller one.`;
    return { state: 'warning', words, advice };
  } catch (error) {
    return { state: 'failed', words: errorMessage(error) };
  }
}

function sizeWords(bytes: number): string {
  const gigabytes = bytes / 1024 ** 3;
  return gigabytes >= 1 ? `${gigabytes.toFixed(1)} GiB` : `${(gigabytes * 1024).toFixed(1)} MiB`;
}
