import type { Message } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import { anonymous, type Principal } from '@trunkline/identity';
import { defineTool, type ModelGateway, type Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import type { Hono } from 'hono';
import { z } from 'zod';
import { ownerOfMessage } from '../core/messages.ts';
import type { CoreOptions } from '../core/options.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import {
  checked,
  type Embed,
  EmbeddingQueue,
  type Passage,
  QdrantStore,
  type VectorMatch,
} from './embedding-queue.ts';

const longest = 1500;

const document = z.object({
  id: z.string().min(1).max(500),
  title: z.string().max(500).optional(),
  text: z.string().min(1).max(2_000_000),
});

const searchQuery = z.object({
  q: z.string().min(1).max(2000),
  limit: z.coerce.number().int().min(1).max(50).default(10),
});

const errors = defineErrors({
  vectors_failed: [502, ({ words }: { words: string }) => `The search failed: ${words}`],
});

const pauseMs = 1000;

/** Indexes conversations and documents, so that agents can search them by meaning. */
export class VectorPlugin implements Plugin {
  readonly name = 'vectors';
  readonly description = 'Finds documents by meaning, for the tool search_knowledge.';
  readonly off: string | undefined;
  readonly #size: number;
  readonly #embed: Embed | undefined;
  readonly #store: QdrantStore | undefined;
  readonly #tool: Tool;
  #queue: EmbeddingQueue | undefined;

  constructor(
    { vectorUrl: url, vectorApiKey: apiKey, vectorSize: size }: CoreOptions,
    embed: ModelGateway['embed'],
  ) {
    this.off = reasonOff(url, embed);
    this.#size = size;
    this.#embed = embed;
    this.#store =
      url === undefined
        ? undefined
        : new QdrantStore({ url, apiKey, size, collection: 'trunkline_switchboard' });
    this.#tool = createSearchKnowledge((...given) => this.#search(...given));
  }

  tools(): Tool[] {
    return this.off === undefined ? [this.#tool] : [];
  }

  mount(app: Hono<SwitchboardEnv>): void {
    app.get('/api/vectors', describeRoute({ summary: 'How the vector pipeline is' }), (context) =>
      context.json({ success: true, data: this.#queue?.status() ?? null }),
    );
    const add = describeRoute({ summary: 'Takes in a document that agents can search', status: 202 });
    app.post('/api/vectors/documents', add, validate('json', document), (context) => {
      const passages = this.#take(context.req.valid('json'), Date.now());
      return context.json({ success: true, data: { passages } }, 202);
    });
    const find = describeRoute({ summary: 'Searches by meaning', errors: [errors.vectors_failed] });
    app.get('/api/vectors/search', find, validate('query', searchQuery), async (context) => {
      const { q, limit } = context.req.valid('query');
      const seen = { limit, principal: context.get('principal') };
      const found = await this.#search(q, seen, context.req.raw.signal).catch((cause: unknown) => {
        throw errors.vectors_failed({ words: errorMessage(cause) }, { cause });
      });
      return context.json({ success: true, data: found });
    });
  }

  async start({ bus, logger }: PluginContext): Promise<void> {
    if (this.#embed === undefined || this.#store === undefined) return;
    const settings = { embed: this.#embed, store: this.#store, size: this.#size, pauseMs, logger };
    this.#queue = new EmbeddingQueue(settings);
    const options = { group: 'vectors', plugin: 'vectors' };
    await bus.subscribe('agent.chat.*', (message) => this.#hear(message), options);
    const take = ({ payload, timestamp }: Message) => void this.#take(document.parse(payload), timestamp);
    await bus.subscribe('knowledge.document', take, options);
  }

  async stop(): Promise<void> {
    await this.#queue?.close();
  }

  #hear(message: Message): void {
    const { topic, payload, correlationId, timestamp: at } = message;
    const fields = fieldsOf(payload);
    const said = text(fields.content);
    if (said === undefined) return;
    const agent = text(fields.agent) ?? 'an agent';
    const origin = topic.endsWith('.inbound') ? `said to ${agent}` : `said by ${agent}`;
    this.#add(passagesOf(said), {
      source: `${topic} ${correlationId}`,
      origin,
      at,
      owner: ownerOfMessage(message),
    });
  }

  #take({ id, title, text: content }: z.output<typeof document>, at: number): number {
    const passages = passagesOf(content);
    this.#add(passages, {
      source: `document ${id}`,
      origin: `document ${title ?? id}`,
      at,
      // What the operator takes in is for everybody.
      owner: 'anonymous',
      parts: passages.length,
    });
    return passages.length;
  }

  #add(passages: readonly string[], about: Omit<Passage, 'text' | 'part'>): void {
    this.#queue?.add(passages.map((passage, part) => ({ text: passage, part, ...about })));
  }

  async #search(query: string, seen: Seen, signal: AbortSignal): Promise<VectorMatch[]> {
    if (this.#embed === undefined || this.#store === undefined) return [];
    const [vector] = await this.#embed([query], signal);
    return await this.#store.search(checked(vector, this.#size), seen, signal);
  }
}

function reasonOff(url: string | undefined, embed: unknown): string | undefined {
  if (url === undefined) return 'Set VECTOR_URL to the address of a Qdrant server to switch it on.';
  return embed === undefined ? 'Set LLM_GATEWAY_URL: EMBED_MODEL there makes the vectors.' : undefined;
}

/** Splits a text between paragraphs if possible, else between words. */
export function passagesOf(text: string): string[] {
  const pieces: string[] = [];
  let current = '';
  for (const paragraph of text.split(/\n\s*\n/).flatMap(short)) {
    if (current !== '' && current.length + paragraph.length + 2 > longest) {
      pieces.push(current);
      current = '';
    }
    current = current === '' ? paragraph : `${current}\n\n${paragraph}`;
  }
  return [...pieces, current].map((piece) => piece.trim()).filter((piece) => piece !== '');
}

function short(paragraph: string): string[] {
  const parts: string[] = [];
  let rest = paragraph;
  while (rest.length > longest) {
    const space = rest.lastIndexOf(' ', longest);
    const end = space > longest / 2 ? space : longest;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...parts, rest];
}

interface Seen {
  limit: number;
  principal: Principal;
}

function createSearchKnowledge(
  search: (query: string, seen: Seen, signal: AbortSignal) => Promise<VectorMatch[]>,
): Tool {
  return defineTool({
    name: 'search_knowledge',
    effects: ['reads'],
    external: true,
    description: 'Finds earlier conversations and documents by their meaning.',
    input: z.object({
      query: z.string().min(1).max(2000),
      limit: z.number().int().min(1).max(20).default(5),
    }),
    async execute({ query, limit }, { signal, principal = anonymous }) {
      try {
        const found = await search(query, { limit, principal }, signal);
        return found.length === 0 ? 'Nothing was found.' : found.map(lineOf).join('\n---\n');
      } catch (error) {
        if (signal.aborted) throw error;
        return `Error: ${errorMessage(error)}`;
      }
    },
  }) as Tool;
}

function lineOf({ origin, at, text, score }: VectorMatch): string {
  const day = new Date(at).toISOString().slice(0, 16);
  return `[${origin}, ${day}, ${score.toFixed(2)}] ${text.slice(0, longest)}`;
}
