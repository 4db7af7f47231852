import { defineTool, type RunningTool, type Tool } from '@trunkline/llm';
import type { ModelMessage, ToolSet } from 'ai';
import { z } from 'zod';
import { offerTools } from './model-step.ts';
import { estimateTokens } from './usage.ts';

/** The schemas of all tools may take this share of the model's window; beyond it the model searches for tools. */
const share = 1 / 5;
const mostFound = 5;
/** A tool that fits much worse than the best one is not meant. */
const leastOfBest = 0.35;
const longestDescription = 200;
/** Characters of a text that tools are ranked by: what somebody wants stands at its beginning. */
const longestWish = 2000;
/** Tools that others answer and that were found may take more: without them they are of no use. */
const neededShare = 2 / 5;

/** The tools of a turn as the model is told of them: all, or those that fit with a tool that finds the others. */
export class ToolOffer {
  readonly #tools: readonly Tool[];
  readonly #all: ToolSet;
  #measured: ReadonlyMap<string, number> | undefined;
  #search: ToolSearch | undefined;
  /** Found in this turn, in the order in which they were found. */
  readonly #found = new Set<string>();
  /** The tools that fit the last message of the user. */
  #wanted: { wish: ModelMessage | undefined; names: readonly string[] } | undefined;
  /** Offered whatever it takes. */
  readonly #required: string | undefined;

  constructor(tools: readonly Tool[], required?: string) {
    this.#tools = tools;
    this.#all = offerTools(tools);
    this.#required = required;
  }

  /** What the model is offered in a window of this many tokens, with `find_tools` where it is not all. */
  within(window: number | undefined, messages: readonly ModelMessage[]): Offered {
    const all = { tools: this.#all, tokens: () => sum(this.#sizes.values()) };
    if (window === undefined || this.#tools.length < 2) return all;
    const budget = Math.floor(window * share);
    if (all.tokens() <= budget) return all;
    const finder = this.#finder(budget);
    const finderSet = offerTools([finder]);
    let tokens = sizeOf(finder.name, finderSet[finder.name] as ToolSet[string]);
    const chosen = new Set<string>();
    const needed = new Set([...this.#found, ...this.#paused]);
    for (const name of this.#byPriority(messages)) {
      const size = this.#sizes.get(name) ?? 0;
      const most = needed.has(name) ? window * neededShare : budget;
      if (tokens + size > most && name !== this.#required) continue;
      chosen.add(name);
      tokens += size;
    }
    const kept = Object.entries(this.#all).filter(([name]) => chosen.has(name));
    return { tools: { ...Object.fromEntries(kept), ...finderSet }, tokens: () => tokens, finder };
  }

  /** About how many tokens each tool takes. */
  get #sizes(): ReadonlyMap<string, number> {
    this.#measured ??= new Map(Object.entries(this.#all).map(([name, tool]) => [name, sizeOf(name, tool)]));
    return this.#measured;
  }

  #rank(text: string): Ranked[] {
    this.#search ??= new ToolSearch(this.#all);
    return this.#search.rank(text.slice(0, longestWish));
  }

  get #paused(): string[] {
    return this.#tools.filter(({ pause }) => pause).map(({ name }) => name);
  }

  /** The required one, found ones, those that others answer, those in use, those that fit the last wish, then as listed. */
  *#byPriority(messages: readonly ModelMessage[]): Generator<string> {
    const wish = messages.findLast(({ role }) => role === 'user');
    if (this.#wanted === undefined || this.#wanted.wish !== wish)
      this.#wanted = { wish, names: this.#rank(textOf(wish)).map(({ name }) => name) };
    const rest = new Set(this.#tools.map(({ name }) => name));
    const first = [...this.#found].reverse();
    if (this.#required !== undefined) first.unshift(this.#required);
    const ordered = [...first, ...this.#paused, ...namesCalled(messages), ...this.#wanted.names, ...rest];
    for (const name of ordered) if (rest.delete(name)) yield name;
  }

  #finder(budget: number): RunningTool<{ query: string }> {
    const names = this.#tools.map(({ name }) => name);
    const list = ` All tools: ${names.join(', ')}.`;
    const name = names.includes('find_tools') ? 'find_more_tools' : 'find_tools';
    return defineTool({
      name,
      effects: ['reads'],
      description: `Finds tools by what they do. There are ${names.length} tools and not all are shown: search before you say that you cannot do something.${estimateTokens(list) <= budget / 4 ? list : ''}`,
      input: z.object({ query: z.string().min(1).describe('What the tool should do, in a few words.') }),
      execute: async ({ query }) => this.#find(query, names),
    });
  }

  #find(query: string, names: readonly string[]): string {
    const [best, ...rest] = this.#rank(query);
    if (best === undefined) return `No tool fits. All tools: ${names.join(', ')}`;
    const found = [best, ...rest.filter(({ score }) => score >= best.score * leastOfBest)].slice(
      0,
      mostFound,
    );
    for (const { name } of found.toReversed()) {
      this.#found.delete(name);
      this.#found.add(name);
    }
    const lines = found.map(({ name }) => `- ${name}: ${shortened(descriptionOf(this.#all[name]))}`);
    return `You can call these from now on:\n${lines.join('\n')}`;
  }
}

export interface Offered {
  tools: ToolSet;
  /** About what they take of the window. */
  tokens(): number;
  /** The tool that finds others, where not all are offered. */
  finder?: RunningTool<{ query: string }>;
}

interface Ranked {
  name: string;
  score: number;
}

/** BM25 over the words of names, descriptions and parameters; a word of the name counts for several. */
class ToolSearch {
  readonly #documents: { name: string; counts: Map<string, number>; length: number }[];
  readonly #holders = new Map<string, number>();
  readonly #averageLength: number;

  constructor(tools: ToolSet) {
    this.#documents = Object.entries(tools).map(([name, tool]) => {
      const counts = new Map<string, number>();
      const add = (words: string[], weight: number) => {
        for (const word of words) counts.set(word, (counts.get(word) ?? 0) + weight);
      };
      add(termsIn(name), 3);
      const description = termsIn(descriptionOf(tool));
      add(description, 1);
      // A description begins with what the tool does.
      add(description.slice(0, 1), 1);
      add(termsIn(Object.keys(propertiesOf(tool)).join(' ')), 0.5);
      return { name, counts, length: sum(counts.values()) };
    });
    for (const word of this.#documents.flatMap(({ counts }) => [...counts.keys()]))
      this.#holders.set(word, (this.#holders.get(word) ?? 0) + 1);
    this.#averageLength = sum(this.#documents.map(({ length }) => length)) / (this.#documents.length || 1);
  }

  /** The tools that share a word with the text, the best first. */
  rank(text: string): Ranked[] {
    const words = new Set(termsIn(text));
    return this.#documents
      .map(({ name, counts, length }) => ({
        name,
        score: sum([...words].map((word) => this.#score(word, counts.get(word) ?? 0, length))),
      }))
      .filter(({ score }) => score > 0)
      .sort((left, right) => right.score - left.score);
  }

  #score(word: string, count: number, length: number): number {
    const holders = this.#holders.get(word) ?? 0;
    const rarity = Math.log(1 + (this.#documents.length - holders + 0.5) / (holders + 0.5));
    return (rarity * count * 2.2) / (count + 1.2 * (0.7 + (0.3 * length) / this.#averageLength));
  }
}

const emptyWords = new Set(
  'a an and any are as at be by can do for from has have how i in into is it its me my of on or please that the their them then there this to use uses want what when where which who will with you your'.split(
    ' ',
  ),
);

/** The words of a text in lower case, names taken apart, endings cut off. */
function termsIn(text: string): string[] {
  return text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !emptyWords.has(word))
    .map((word) =>
      word.length > 4 ? word.replace(/(ies|ing|ers?|ed|es|s|y|e)$/, '') : word.replace(/s$/, ''),
    );
}

function propertiesOf({ inputSchema }: ToolSet[string]): object {
  const schema = (inputSchema as { jsonSchema?: { properties?: object } }).jsonSchema;
  return schema?.properties ?? {};
}

function descriptionOf(tool: ToolSet[string] | undefined): string {
  return typeof tool?.description === 'string' ? tool.description : '';
}

/** By the schema of a tool: it is offered in every turn. */
const sizes = new WeakMap<object, { name: string; description: string; tokens: number }>();

function sizeOf(name: string, tool: ToolSet[string]): number {
  const { inputSchema } = tool as { inputSchema: { jsonSchema?: unknown } };
  const description = descriptionOf(tool);
  const known = sizes.get(inputSchema);
  if (known?.name === name && known.description === description) return known.tokens;
  const offered = { name, description, parameters: inputSchema.jsonSchema };
  const tokens = estimateTokens(JSON.stringify({ type: 'function', function: offered }));
  sizes.set(inputSchema, { name, description, tokens });
  return tokens;
}

/** The tools that were called in the conversation, the latest first. */
function namesCalled(messages: readonly ModelMessage[]): string[] {
  return messages
    .flatMap(({ role, content }) => (role === 'assistant' && typeof content !== 'string' ? content : []))
    .flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : []))
    .reverse();
}

function textOf(message: ModelMessage | undefined): string {
  if (message === undefined) return '';
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}

function shortened(text: string): string {
  return text.length > longestDescription ? `${text.slice(0, longestDescription)}…` : text;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
