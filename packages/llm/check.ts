import { connectionFailure } from '@trunkline/std';
import { type Endpoint, listModels } from './endpoint.ts';
import { toModelError } from './error-translation.ts';
import type { ModelError, ModelErrorCode } from './model-error.ts';

/** What a look at the model endpoint showed, in words for the operator. */
export interface ModelCheck {
  ok: boolean;
  message: string;
  code?: ModelErrorCode;
  /** The names that the endpoint offers. */
  models: string[];
}

/** Names that the settings give. */
export interface ConfiguredModels {
  model: string | undefined;
  fastModel: string | undefined;
  fallbackModels: readonly string[];
  /** The file that names the endpoint, where no variables do. */
  file: string | undefined;
}

const longestList = 12;

export const demoCheck: ModelCheck = {
  ok: true,
  message:
    'The offline demo model answers. Choose a real one at /setup/model, with "npx trunkline init", or by LLM_GATEWAY_URL, LLM_API_KEY and LLM_MODEL.',
  models: [],
};

/** Asks the endpoint for its models and says in words what is wrong, if anything is. */
export async function checkEndpoint(
  endpoint: Endpoint,
  configured: ConfiguredModels,
  signal: AbortSignal | undefined,
): Promise<ModelCheck> {
  try {
    return judge(endpoint, configured, await listModels(endpoint, signal));
  } catch (error) {
    const failure = toModelError(error, { secrets: endpoint.secrets });
    return {
      ok: false,
      code: failure.code,
      message: problemWords(endpoint, failure, configured),
      models: [],
    };
  }
}

/** Why an endpoint cannot be used, and the setting to check. */
export function problemWords(
  { shownUrl }: Endpoint,
  { code, detail = '', message }: ModelError,
  { file }: ConfiguredModels,
): string {
  if (code === 'unreachable')
    return `Cannot reach the model at ${shownUrl}: ${connectionFailure(detail)}. Check ${placeOf(file) ?? 'LLM_GATEWAY_URL'}.`;
  if (code === 'refused-key')
    return `The model at ${shownUrl} refuses the key. Check ${placeOf(file) ?? 'LLM_API_KEY'}.`;
  return `${shownUrl}: ${message}`;
}

/** Where people change what stands in that file. */
function placeOf(file: string | undefined): string | undefined {
  return file === 'models.yaml' ? `Setup, Model (/setup/model; ${file})` : file;
}

/** Compares the list of an endpoint with the settings. `isUsable` knows names that work though they are not listed. */
export function judge(
  endpoint: Endpoint,
  configured: ConfiguredModels,
  models: string[],
  isUsable: (name: string) => boolean = () => false,
): ModelCheck {
  const offers = `${endpoint.shownUrl} offers ${shortList(models)}`;
  if (!configured.model) {
    const setting = configured.file === undefined ? 'LLM_MODEL' : `The model in ${configured.file}`;
    return { ok: false, code: 'misconfigured', message: `${setting} is not set; ${offers}.`, models };
  }
  const isListed = (name: string) =>
    models.some((listed) => [name, `${name}:latest`, `models/${name}`].includes(listed));
  const absent = namedSettings(configured).find(([, name]) => !isListed(name) && !isUsable(name));
  if (absent) {
    const [setting, name] = absent;
    return { ok: false, code: 'not-found', message: `${setting} is "${name}", but ${offers}.`, models };
  }
  return { ok: true, message: `${configured.model} is ready at ${endpoint.shownUrl}.`, models };
}

function namedSettings({
  model,
  fastModel,
  fallbackModels,
  file,
}: ConfiguredModels): [setting: string, name: string][] {
  const settings: [string, string | undefined][] = [
    [file === undefined ? 'LLM_MODEL' : `The model in ${file}`, model],
    ['LLM_FAST_MODEL', fastModel],
    ...fallbackModels.map((name): [string, string] => ['A fallback model', name]),
  ];
  return settings.filter((entry): entry is [string, string] => Boolean(entry[1]));
}

function shortList(models: string[]): string {
  if (models.length === 0) return 'no model at all';
  const more = models.length - longestList;
  return `${models.slice(0, longestList).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
