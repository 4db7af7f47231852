import { type Endpoint, listModels } from './endpoint.ts';
import { toModelError } from './error-translation.ts';
import type { ModelErrorCode } from './model-error.ts';

/** What a look at the model endpoint showed, in words for the operator. */
export interface ModelCheck {
  ok: boolean;
  message: string;
  code?: ModelErrorCode;
  /** The names that the endpoint offers. */
  models: string[];
}

/** Names that the settings give, with the variable that sets each. */
interface ConfiguredModels {
  model: string | undefined;
  fastModel: string | undefined;
  fallbackModels: readonly string[];
}

const longestList = 12;

export const demoCheck: ModelCheck = {
  ok: true,
  message:
    'The offline demo model answers. Set LLM_GATEWAY_URL, LLM_API_KEY and LLM_MODEL to use a real model.',
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
    const { code, message } = toModelError(error, { secrets: endpoint.secrets });
    return { ok: false, code, message: `${endpoint.shownUrl}: ${message}`, models: [] };
  }
}

function judge(endpoint: Endpoint, configured: ConfiguredModels, models: string[]): ModelCheck {
  const offers = `${endpoint.shownUrl} offers ${shortList(models)}`;
  if (!configured.model) {
    return { ok: false, code: 'misconfigured', message: `LLM_MODEL is not set; ${offers}.`, models };
  }
  const absent = namedSettings(configured).find(([, name]) => !models.includes(name));
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
}: ConfiguredModels): [setting: string, name: string][] {
  const settings: [string, string | undefined][] = [
    ['LLM_MODEL', model],
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
