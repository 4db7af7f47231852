import { BoundedMap } from '@trunkline/std';
import type { EndpointKind } from './endpoint-kind.ts';
import { type ModelPrice, matchesName } from './prices.ts';

/** How a model and its endpoint behave. */
export interface ModelProfile {
  /** Tokens of prompt and answer together; undefined while nobody knows. */
  contextTokens?: number;
  /** Tokens of the longest answer. */
  outputTokens?: number;
  /** How tools are offered: by the API, described in the prompt, or not at all. */
  tools: 'native' | 'prompted' | 'none';
  /**
   * `auto` splits thoughts off wherever they are marked; `open` is for models whose template opens the thoughts, so that
   * the answer begins within them; `none` leaves the answer as it is.
   */
  reasoning: 'auto' | 'open' | 'none';
  /** The model is known or was seen to write tool calls into its text. */
  textToolCalls: boolean;
  /** Whether it sees images; undefined while nobody knows. */
  images?: boolean;
  /** Parameters of the request that the endpoint refuses. */
  omitParameters: readonly string[];
  /** Limit for the first token; what the endpoint sends to keep the connection alive extends it. */
  firstTokenMs: number;
  /** Limit without any byte once tokens come. */
  idleMs: number;
  /** Limit of a whole answer, however steadily it comes: an answer without an end. */
  answerMs: number;
  /** How long a model that is being loaded is waited for. */
  loadingMs: number;
  price?: ModelPrice;
}

interface ProfileEntry {
  /** Kinds of endpoints it is for; all when left out. */
  kinds?: readonly EndpointKind[];
  /** Patterns of model names without a provider in front; all when left out. */
  names?: readonly string[];
  facts: Partial<ModelProfile>;
}

const base: ModelProfile = {
  tools: 'native',
  reasoning: 'auto',
  textToolCalls: false,
  omitParameters: [],
  firstTokenMs: 120_000,
  idleMs: 90_000,
  answerMs: 7_200_000,
  loadingMs: 300_000,
};

/** A model on a machine of one's own reads a long prompt at some ten tokens a second where it has no GPU. */
const local: Partial<ModelProfile> = { firstTokenMs: 900_000, idleMs: 180_000, loadingMs: 600_000 };

/** Kinds whose models are files that people name and cut to size as they like. */
export const ownServers: readonly EndpointKind[] = ['ollama', 'vllm', 'llamacpp', 'lmstudio'];

const providers: readonly EndpointKind[] = [
  'openai',
  'azure',
  'openrouter',
  'litellm',
  'gemini',
  'mistral',
  'anthropic',
  'bedrock',
  'other',
];

const sampling = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'];

const openWeights = [
  ...[
    'hermes*',
    'nous-hermes*',
    'qwen2*',
    'qwen3*',
    'qwq*',
    'llama3*',
    'llama-3*',
    'meta-llama-3*',
    'llama4*',
  ],
  ...['mistral*', 'ministral*', 'mixtral*', 'devstral*', 'functionary*', 'firefunction*', 'command-r*'],
  ...[
    'deepseek*',
    'gpt-oss*',
    'granite*',
    'kimi*',
    'glm-4*',
    'smollm*',
    'phi*',
    'gemma*',
    'xlam*',
    'nemotron*',
  ],
];

/** Every entry that matches adds its facts; a later one wins. */
const table: readonly ProfileEntry[] = [
  { kinds: ['mistral'], facts: { omitParameters: ['stream_options', 'seed'] } },
  { names: openWeights, facts: { textToolCalls: true } },
  // Their template opens the thoughts, so that only the tag that closes them comes where nothing parses it.
  {
    names: ['deepseek-r1*', '*-r1-distill*', 'qwq*', '*-thinking*', 'seed-oss*', 'glm-z1*'],
    facts: { reasoning: 'open' },
  },
  // Ollama refuses tools for models whose template has no place for them.
  {
    kinds: ['ollama'],
    names: [
      'gemma',
      'gemma:*',
      'gemma2*',
      'gemma3*',
      'phi3*',
      'phi4',
      'phi4:*',
      'llama2*',
      'tinyllama*',
      'codellama*',
    ],
    facts: { tools: 'prompted' },
  },
  {
    names: ['o1*', 'o3*', 'o4*', 'gpt-5*'],
    kinds: providers,
    facts: { omitParameters: sampling },
  },
  { names: ['gpt-5*-chat*'], kinds: providers, facts: { omitParameters: [] } },
  ...windows([
    [['gpt-3.5-turbo*'], 16_385, 4096, false],
    [['gpt-4o*', 'chatgpt-4o*'], 128_000, 16_384, true],
    [['gpt-4.1*'], 1_047_576, 32_768, true],
    [['gpt-5*'], 400_000, 128_000, true],
    [['gpt-5*-chat*'], 128_000, 16_384, true],
    [['o1*', 'o3*', 'o4-mini*'], 200_000, 100_000, true],
    [['o3-mini*'], 200_000, 100_000, false],
    [['claude-3-5*', 'claude-3.5*'], 200_000, 8192, true],
    [['claude-*4*', 'claude-*5*', 'claude-3-7*', 'claude-3.7*'], 200_000, 64_000, true],
    [['gemini-2*', 'gemini-3*'], 1_048_576, 65_536, true],
    [['gemini-2.0*'], 1_048_576, 8192, true],
    [['mistral-large*', 'mistral-medium*', 'mistral-small*', 'pixtral*'], 131_072, undefined, true],
    [['codestral*', 'ministral*'], 131_072, undefined, false],
    [['deepseek-chat*', 'deepseek-reasoner*'], 131_072, 8192, false],
  ]),
  // Which images these can see does not depend on who serves them.
  {
    names: [
      'gpt-oss*',
      'deepseek-*',
      'llama2*',
      'llama3',
      'llama3:*',
      'llama3.1*',
      'llama3.3*',
      'mistral:*',
      'mixtral*',
      'phi3*',
      'qwen2.5',
      'qwen2.5:*',
      'qwen3',
      'qwen3:*',
      'qwq*',
      'tinyllama*',
      'smollm2*',
      'granite3*',
      'granite4*',
    ],
    facts: { images: false },
  },
  {
    names: [
      '*llava*',
      '*vision*',
      '*-vl*',
      '*vl:*',
      '*-vlm*',
      'pixtral*',
      'minicpm-v*',
      'gemma3:4b*',
      'gemma3:12b*',
      'gemma3:27b*',
      'gemma-3-4b*',
      'gemma-3-12b*',
      'gemma-3-27b*',
      'llama4*',
      'llama-4*',
      'moondream*',
      'internvl*',
      'qwen2.5vl*',
      'qwen3-vl*',
      'qwen3vl*',
      'smolvlm*',
    ],
    facts: { images: true },
  },
];

/** Context window, longest answer and images of models that providers serve; on a machine of one's own the server decides. */
function windows(
  rows: readonly (readonly [names: string[], context: number, output: number | undefined, images: boolean])[],
): ProfileEntry[] {
  return rows.map(([names, contextTokens, outputTokens, images]) => ({
    names,
    kinds: providers,
    facts: { contextTokens, images, ...(outputTokens !== undefined && { outputTokens }) },
  }));
}

/** Asked several times in each step of a turn. */
const found = new BoundedMap<string, ModelProfile>(500);

/** What is known of a model before it was ever called. */
export function profileFromTable(
  kind: EndpointKind,
  model: string,
  isLocal: boolean,
): Readonly<ModelProfile> {
  const key = `${kind} ${isLocal} ${model}`;
  const profile = found.get(key) ?? findProfile(kind, model, isLocal);
  if (!found.has(key)) found.set(key, profile);
  return profile;
}

function findProfile(kind: EndpointKind, model: string, isLocal: boolean): ModelProfile {
  const isOwn = isLocal || ownServers.includes(kind);
  const name = model.slice(model.lastIndexOf('/') + 1);
  // On a local server of an unknown kind names are often aliases: they say nothing about windows.
  const known = isOwn && kind === 'other' ? table.filter(({ kinds }) => kinds === undefined) : table;
  const facts = known
    .filter(({ kinds }) => kinds === undefined || kinds.includes(kind))
    .filter(({ names }) => names === undefined || names.some((pattern) => matchesName(pattern, name)))
    .map((entry) => entry.facts);
  return Object.assign({ ...base, ...(isOwn && local) }, ...facts);
}
