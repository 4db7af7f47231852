import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { BoundedMap } from '@trunkline/std';
import { ModelError } from '../model-error.ts';
import type { ModelProfile } from '../profiles/profile.ts';
import { tellNote } from '../retry.ts';
import { batchesOf, streamOf } from '../wire/batches.ts';
import type { Piece } from './harmony.ts';
import { promptTools, withoutTools } from './prompted-tools.ts';
import type { TextCall } from './text-calls.ts';
import { TextSplitter } from './text-splitter.ts';

type AnswerProfile = Pick<ModelProfile, 'tools' | 'reasoning' | 'textToolCalls'>;
type Learn = (facts: Partial<AnswerProfile>, reason: string) => void;
type Part = LanguageModelV4StreamPart;

/**
 * A model whose answers are read as they are meant: thoughts and tool calls that it writes into its text come out as
 * what they are. A model that cannot be offered tools gets them described in its prompt, or none, as its profile says.
 */
export function readAnswers(
  model: LanguageModelV4,
  profile: () => AnswerProfile,
  learn: Learn = () => undefined,
): LanguageModelV4 {
  /** Calls the model in the form that its profile asks for; once more when the endpoint has just refused tools. */
  async function call<Result>(
    options: LanguageModelV4CallOptions,
    work: (adapted: LanguageModelV4CallOptions) => PromiseLike<Result>,
  ) {
    const { tools } = profile();
    try {
      return { result: await work(adapt(options, tools, model.modelId)), tools: profile().tools };
    } catch (error) {
      // A schema that the endpoint does not take concerns this call alone, so the profile may be as before.
      const isRefused = error instanceof ModelError && error.code === 'tools-unsupported';
      const now = isRefused && profile().tools === 'native' ? 'prompted' : profile().tools;
      if (now === tools) throw error;
      return { result: await work(adapt(options, now, model.modelId)), tools: now };
    }
  }
  const seen: SeenThoughts = { strays: 0, areClosed: true };
  const splitterFor = (
    options: LanguageModelV4CallOptions,
    tools: AnswerProfile['tools'],
    isStream: boolean,
  ) => createSplitter(options, { ...profile(), tools }, learn, { seen, isStream });
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      const { result, tools } = await call(options, (adapted) => model.doGenerate(adapted));
      const splitter = splitterFor(options, tools, false);
      const { content, hasCalls } = splitContent(result.content, result.finishReason, splitter);
      return {
        ...result,
        content,
        finishReason: hasCalls ? called(result.finishReason) : result.finishReason,
      };
    },
    async doStream(options) {
      const { result, tools } = await call(options, (adapted) => model.doStream(adapted));
      return { ...result, stream: splitStream(result.stream, splitterFor(options, tools, true)) };
    },
  };
}

function called({ raw }: LanguageModelV4FinishReason): LanguageModelV4FinishReason {
  return { unified: 'tool-calls', raw };
}

function adapt(
  options: LanguageModelV4CallOptions,
  tools: AnswerProfile['tools'],
  modelId: string,
): LanguageModelV4CallOptions {
  if (tools === 'native') return options;
  if (tools === 'prompted') return promptTools(options);
  if (options.tools !== undefined && options.tools.length > 0 && !toldOfNoTools.has(modelId)) {
    toldOfNoTools.set(modelId, true);
    tellNote(`The model ${modelId} cannot use tools, so it answers without them`);
  }
  return withoutTools(options);
}

const mostTold = 100;
const toldOfNoTools = new BoundedMap<string, true>(mostTold);

interface Splitter {
  text: TextSplitter;
  /** The pieces with what they tell about the model learned. */
  observe(pieces: Piece[]): Piece[];
}

/** What answers showed of thoughts whose opening tag is left out. */
interface SeenThoughts {
  /** Answers that closed such thoughts unexpectedly, since the last that had none. */
  strays: number;
  /** False once expected thoughts turned out to be the answer, until some are closed again: meanwhile they are held back. */
  areClosed: boolean;
}

/** One may only speak of the tag; so many make sure that the model's template has the opening one. */
const enoughStrays = 2;

function createSplitter(
  { tools = [], toolChoice, prompt }: LanguageModelV4CallOptions,
  profile: AnswerProfile,
  learn: Learn,
  { seen, isStream }: { seen: SeenThoughts; isStream: boolean },
): Splitter {
  const offered =
    toolChoice?.type === 'none' || profile.tools === 'none' ? [] : tools.map(({ name }) => name);
  const isGuess = profile.reasoning === 'auto' && seen.strays >= enoughStrays;
  const text = new TextSplitter({
    thoughts: isGuess ? 'open' : profile.reasoning,
    isGuess,
    isLive: isStream && seen.areClosed,
    offered: new Set(offered),
    writesCalls: profile.textToolCalls || profile.tools === 'prompted',
    isQuoted: createQuoteCheck(prompt),
  });
  return {
    text,
    observe(pieces) {
      const has = (type: Piece['type']) => pieces.some((piece) => piece.type === type);
      if (has('stray')) seen.strays += 1;
      const { openThoughts } = text;
      if (isGuess && openThoughts === 'none') seen.strays = 0;
      if (openThoughts !== undefined) seen.areClosed = openThoughts === 'closed';
      if (has('call') && profile.tools === 'native')
        learn({ textToolCalls: true }, 'it writes tool calls as text');
      return pieces;
    },
  };
}

/** The content of a whole answer. */
function splitContent(
  content: readonly LanguageModelV4Content[],
  { unified }: LanguageModelV4FinishReason,
  splitter: Splitter,
) {
  const { text, observe } = splitter;
  const hasOwnCalls = content.some(({ type }) => type === 'tool-call');
  if (content.some(({ type }) => type === 'reasoning')) text.thoughtsComeApart();
  let hasCalls = false;
  let result: LanguageModelV4Content[] = [];
  const lastText = content.findLastIndex(({ type }) => type === 'text');
  for (const [index, part] of content.entries()) {
    if (part.type !== 'text') {
      result.push(part);
      continue;
    }
    const pieces = [
      ...text.push(part.text),
      ...(index === lastText ? text.end(unified === 'length', hasOwnCalls) : []),
    ];
    const { providerMetadata } = part;
    for (const piece of observe(pieces)) {
      if (piece.type === 'stray')
        result = result.map((each) => (each.type === 'text' ? { ...each, type: 'reasoning' } : each));
      else if (piece.type === 'call') {
        hasCalls = true;
        result.push(toolCall(piece.call));
      } else result.push({ ...piece, ...(providerMetadata && { providerMetadata }) });
    }
  }
  return { content: result, hasCalls };
}

function toolCall({ name, input }: { name: string; input: string }) {
  return { type: 'tool-call' as const, toolCallId: `call_${crypto.randomUUID()}`, toolName: name, input };
}

/** Splits the text of a stream, block by block; everything else passes. */
function splitStream(stream: ReadableStream<Part>, splitter: Splitter): ReadableStream<Part> {
  const source = batchesOf(stream);
  const split = createPartSplitter(splitter);
  let isOver = false;
  return streamOf({
    async next() {
      while (!isOver) {
        const parts = await source.next();
        isOver = parts === undefined;
        const out = parts?.flatMap(split.read) ?? split.end();
        if (out.length > 0) return out;
      }
      return undefined;
    },
    cancel: (reason) => source.cancel(reason),
  });
}

function createPartSplitter({ text, observe }: Splitter) {
  let open: { type: 'text' | 'reasoning'; id: string } | undefined;
  let metadata: Extract<Part, { type: 'text-start' }>['providerMetadata'];
  let blocks = 0;
  let hasCalls = false;
  let hasOwnCalls = false;

  function close(): Part[] {
    const ends: Part[] = open === undefined ? [] : [{ type: `${open.type}-end`, id: open.id }];
    open = undefined;
    return ends;
  }

  function put(pieces: Piece[]): Part[] {
    const out: Part[] = [];
    for (const piece of observe(pieces)) {
      if (piece.type === 'stray') continue;
      if (piece.type === 'call') {
        hasCalls = true;
        out.push(...close(), toolCall(piece.call));
        continue;
      }
      if (open?.type !== piece.type) {
        out.push(...close());
        open = { type: piece.type, id: `${piece.type}-${blocks++}` };
        out.push({
          type: `${piece.type}-start`,
          id: open.id,
          ...(metadata && { providerMetadata: metadata }),
        });
      }
      out.push({ type: `${piece.type}-delta`, id: open.id, delta: piece.text });
    }
    return out;
  }

  return {
    read(part: Part): Part[] {
      switch (part.type) {
        case 'text-start':
          metadata = part.providerMetadata;
          return [];
        case 'text-delta':
          return put(text.push(part.delta));
        case 'text-end':
          return text.isHolding ? [] : close();
        case 'finish': {
          const rest = put(text.end(part.finishReason.unified === 'length', hasOwnCalls));
          const finish = hasCalls ? { ...part, finishReason: called(part.finishReason) } : part;
          return [...rest, ...close(), finish];
        }
        case 'reasoning-start':
          text.thoughtsComeApart();
          return [...close(), part];
        case 'tool-call':
          hasOwnCalls = true;
          return [part];
        case 'error':
          // What is held back was said, whatever it would have become.
          return [...put(text.end(text.isThinking, true)), ...close(), part];
        default:
          return [part];
      }
    },
    end: (): Part[] => [...put(text.end(text.isThinking, true)), ...close()],
  };
}

/** Shorter ones say too little to be told apart from chance. */
const shortest = 12;

/** Letters and digits that a form of calls may have between a key and its value. */
const widestGap = 60;

/**
 * Whether a call stands in what the model was shown by its tools or by others. A page may hold a call in the hope that
 * the model repeats it; what is repeated is a quotation, however it is spelled.
 */
function createQuoteCheck(prompt: LanguageModelV4Prompt): (call: TextCall) => boolean {
  let shown: string | undefined;
  return ({ name, input, written }) => {
    shown ??= spellings(shownIn(prompt)).join('\n');
    const text = shown;
    if (spellings(written).some((each) => each.length >= shortest && text.includes(each))) return true;
    const words = [name, ...stringsIn(readInput(input))].map(squeezed).filter((word) => word !== '');
    return words.join('').length >= shortest && standsIn(text, words);
  };
}

/** What is left of a text when its spelling is taken away: letters and digits, as they are and with escapes read. */
function spellings(text: string): string[] {
  const once = unescaped(text);
  return [...new Set([text, once, unescaped(once)])].map(squeezed);
}

function squeezed(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-f]{4})|([\s\S]))/gi, (_, code?: string, sign = '') => {
    if (code !== undefined) return String.fromCharCode(parseInt(code, 16));
    return /[bfnrt]/.test(sign) ? ' ' : sign;
  });
}

/** Whether the words stand there in this order, each close behind the one before. */
function standsIn(text: string, [first = '', ...others]: readonly string[]): boolean {
  for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, at + 1)) {
    let end = at + first.length;
    const isThere = others.every((word) => {
      const gap = text.slice(end, end + widestGap + word.length).indexOf(word);
      end += gap + word.length;
      return gap >= 0;
    });
    if (isThere) return true;
  }
  return false;
}

function readInput(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    // Arguments that break off are compared as they are written.
    return input;
  }
}

/** Keys and values in their order. */
function stringsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.entries(value).flatMap(([key, field]) => [key, ...stringsIn(field)]);
}

function shownIn(prompt: LanguageModelV4Prompt): string {
  const texts = prompt.flatMap(({ role, content }): string[] => {
    if (role === 'system') return [];
    return content.flatMap((part) => {
      if (part.type === 'tool-result') return stringsIn(part.output);
      return role === 'user' && part.type === 'text' && part.text.includes('<outside-') ? [part.text] : [];
    });
  });
  return texts.join('\n');
}
