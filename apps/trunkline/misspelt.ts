import { join } from 'node:path';
import {
  ConfigError,
  defineOptions,
  directory,
  type Environment,
  homeOptions,
  knownVariables,
  loadYaml,
  modelOptions,
  nearest,
  readOptions,
} from '@trunkline/config';
import { z } from 'zod';

const KEY = '_API_KEY';
// Such as PEER_ROXY_URL.
const BUILT = 'PEER_';
const SHORTEST = 6;
/** Names that are built from data, or so short that they are rather those of other programs. */
export const isNoSlip = (name: string) =>
  name.startsWith(BUILT) || name.endsWith(KEY) || name.length < SHORTEST;
/** NODE_PATH is another word, not a slip of the fingers for NOTES_PATH. */
export const mostSlips = (name: string) => (name.length < 12 ? 1 : 2);

/** Variables that look like misspelt settings, and settings that do nothing by themselves, in words. */
export async function settingNotes(env: Environment, example?: string): Promise<string[]> {
  const listed = knownVariables(example);
  const known = new Set([...listed, agentKey(env)]);
  const names = listed.size === 0 ? [] : Object.keys(env).filter((name) => !known.has(name));
  const notes = names.flatMap((name) => noteOf(name, known) ?? []);
  const isSet = (name: string) => (env[name] ?? '').trim() !== '';
  const users = isSet('LLM_MODEL') && !isSet('LLM_URL') ? await usersOfModel(env) : 'all';
  if (users !== 'all') {
    const where = users === 'agent' ? ' in all services but the agent, whose agent.yaml names a model' : '';
    notes.push(`LLM_MODEL is set, but LLM_GATEWAY_URL is not: the offline demo model answers${where}.`);
  }
  return notes;
}

/** The key that callers of the agent show, named after it. */
function agentKey(env: Environment): string {
  const name = env.AGENT_NAME?.trim() || 'trunkline-agent';
  return `${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}${KEY}`;
}

function noteOf(name: string, known: ReadonlySet<string>): string | undefined {
  const isKey = name.endsWith(KEY);
  if (isNoSlip(name) && !isKey) return undefined;
  const isOurs = name.startsWith('TRUNKLINE_');
  const meant = isKey ? keyMeantBy(name, known) : nearest(name, known, isOurs ? undefined : mostSlips(name));
  if (meant !== undefined) return `${name} is not a setting; did you mean ${meant}?`;
  if (!isOurs) return undefined;
  const what = isKey ? 'no agent has that name (AGENT_NAME)' : '.env.example lists them all';
  return `${name} is not a setting; ${what}.`;
}

/** Any agent's name can stand before `_API_KEY`, and any provider's: what stands there is compared alone. */
function keyMeantBy(name: string, known: ReadonlySet<string>): string | undefined {
  const stem = name.slice(0, -KEY.length);
  const stems = [...known].filter((each) => each.endsWith(KEY)).map((each) => each.slice(0, -KEY.length));
  const meant = nearest(stem, stems, mostSlips(stem));
  if (meant === undefined) return undefined;
  // GLM is another provider, LML a slip for LLM.
  const isSlip = meant.length > 4 || lettersOf(stem) === lettersOf(meant);
  return isSlip ? `${meant}${KEY}` : undefined;
}

function lettersOf(word: string): string {
  return [...word.toLowerCase()].sort().join('');
}

const places = defineOptions('trunkline', 'the model', {
  ...homeOptions,
  ...modelOptions,
  agentFolder: directory({ env: 'CORE_CONFIG_DIR', doc: 'Folder with agent.yaml.' }),
});

/** Of the agent's configuration, which its own schema checks. */
const agentModel = z.looseObject({ model: z.looseObject({ api_base: z.string().nullish() }).nullish() });

/**
 * Which services have a model: all where a variable, settings.yaml, models.yaml or a file in the home names one, the agent
 * alone where its configuration does. What is broken is told by the service itself.
 */
async function usersOfModel(env: Environment): Promise<'all' | 'agent' | 'none'> {
  try {
    const options = readOptions(places, { env });
    if (options.llmGatewayUrl !== undefined || options.llmGguf !== undefined) return 'all';
    // Most commands do without these.
    const [{ findModelFile }, { ModelsFile }, { serviceHome }] = await Promise.all([
      import('@trunkline/gguf'),
      import('@trunkline/llm'),
      import('@trunkline/storage'),
    ]);
    if (findModelFile(options, env) !== undefined) return 'all';
    if (new ModelsFile({ home: options.trunklineHome, env }).role('chat')?.url !== undefined) return 'all';
    const folder = options.agentFolder ?? join(serviceHome(options.trunklineHome, 'agent'), 'config');
    const config = await loadYaml(join(folder, 'agent.yaml'), agentModel, { allowMissing: true, env });
    return config?.model?.api_base?.trim() ? 'agent' : 'none';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return 'all';
  }
}
