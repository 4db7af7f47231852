import { isDeepStrictEqual } from 'node:util';
import { type AppEnv, defineErrors, describeRoute, validate } from '@trunkline/http';
import { type Principal, quotaKey } from '@trunkline/identity';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { OpenAiApi } from '../api.ts';
import { openAiErrors } from '../errors.ts';
import { type Item, inputItem, readInput } from './items.ts';
import { conversationOf, metadata, type ResponseRequest, refuse } from './request.ts';
import type { Responses } from './responses.ts';
import { conversationIn, isRunning } from './store.ts';

type ResponsesApi = NonNullable<OpenAiApi['responses']>;

const { conversation_not_found, item_not_found } = defineErrors({
  conversation_not_found: [
    404,
    ({ id }: { id: string }) => `There is no conversation "${id}" here. It may have expired.`,
  ],
  item_not_found: [404, ({ id }: { id: string }) => `There is no item "${id}" in this conversation.`],
});

export const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().optional(),
});

/** Items that one request may bring. */
const mostItems = 20;

const newItems = z.array(inputItem).max(mostItems);
const createBody = z.object({ items: newItems.nullish(), metadata: metadata.nullish() });
const updateBody = z.object({ metadata });
const itemsBody = z.object({ items: newItems.min(1) });

/** Mounts `/v1/conversations`: what was said, kept under an id that responses name. */
export function mountConversations<Caller>(
  app: Hono<AppEnv<Caller>>,
  { kept, engine }: Pick<ResponsesApi, 'kept' | 'engine'>,
): void {
  const { conversations } = kept.store;
  const find = (context: Context<AppEnv<Caller>>, id: string) => {
    const found = conversations.find(id, context.get('principal'));
    if (found === undefined) throw conversation_not_found({ id });
    return found;
  };
  const findItem = (conversation: string, id: string): Item => {
    const item = conversations.item(conversation, id);
    if (item === undefined) throw item_not_found({ id });
    return item;
  };
  const read = (
    context: Context<AppEnv<Caller>>,
    given: z.output<typeof newItems>,
    conversation?: string,
  ): Item[] => {
    const principal = context.get('principal');
    const batch = `resp_${crypto.randomUUID().replaceAll('-', '')}`;
    const items = readInput(given, batch, (item) => kept.store.findItems(item, principal, conversation));
    // What no response could take is refused now.
    kept.store.messages(items, principal);
    requireRoom(items, principal, engine);
    return items;
  };

  app.post(
    '/v1/conversations',
    describeRoute({ summary: 'Create a conversation' }),
    validate('json', createBody),
    (context) => {
      const { items, metadata: pairs } = context.req.valid('json');
      const given = read(context, items ?? []);
      const created = conversations.create(context.get('principal'), pairs ?? {});
      conversations.add(created.id, given);
      return context.json(shown(created));
    },
  );
  app.get(
    '/v1/conversations/:id',
    describeRoute({ summary: 'Get a conversation', errors: [conversation_not_found] }),
    (context) => context.json(shown(find(context, context.req.param('id')))),
  );
  app.post(
    '/v1/conversations/:id',
    describeRoute({ summary: 'Change the metadata of a conversation', errors: [conversation_not_found] }),
    validate('json', updateBody),
    (context) => {
      const { id } = find(context, context.req.param('id'));
      conversations.update(id, context.req.valid('json').metadata);
      return context.json(shown(find(context, id)));
    },
  );
  app.delete(
    '/v1/conversations/:id',
    describeRoute({ summary: 'Delete a conversation', errors: [conversation_not_found] }),
    (context) => {
      const { id } = find(context, context.req.param('id'));
      conversations.delete(id);
      return context.json({ id, object: 'conversation.deleted', deleted: true });
    },
  );
  app.post(
    '/v1/conversations/:id/items',
    describeRoute({ summary: 'Add items to a conversation', errors: [conversation_not_found] }),
    validate('json', itemsBody),
    (context) => {
      const { id } = find(context, context.req.param('id'));
      const items = read(context, context.req.valid('json').items, id);
      requireRoomIn(id, items, kept);
      conversations.add(id, items);
      return context.json(listed(items.map(plain), { limit: mostItems, order: 'asc' }));
    },
  );
  app.get(
    '/v1/conversations/:id/items',
    describeRoute({ summary: 'List the items of a conversation', errors: [conversation_not_found] }),
    validate('query', listQuery),
    (context) => {
      const { id } = find(context, context.req.param('id'));
      const query = context.req.valid('query');
      // One more tells whether there are more.
      const items = conversations.page(id, { ...query, limit: query.limit + 1 });
      if (items === undefined) throw noSuchPlace(query.after);
      return context.json(pageOf(items.slice(0, query.limit).map(plain), items.length > query.limit));
    },
  );
  const both = [conversation_not_found, item_not_found];
  app.get(
    '/v1/conversations/:id/items/:item',
    describeRoute({ summary: 'Get an item of a conversation', errors: both }),
    (context) => {
      const { id } = find(context, context.req.param('id'));
      return context.json(plain(findItem(id, context.req.param('item'))));
    },
  );
  app.delete(
    '/v1/conversations/:id/items/:item',
    describeRoute({ summary: 'Delete an item of a conversation', errors: both }),
    (context) => {
      const conversation = find(context, context.req.param('id'));
      const { id } = findItem(conversation.id, context.req.param('item'));
      conversations.removeItem(conversation.id, id);
      return context.json(shown(conversation));
    },
  );
}

/**
 * Refuses what a conversation cannot take: too much, or other words under the id of an item that it has. The same item
 * once more is no mistake: clients send back what they were given.
 */
function requireRoomIn(id: string, items: readonly Item[], { store }: Pick<Responses, 'store'>): void {
  const { conversations } = store;
  const known = items.map((item) => conversations.item(id, item.id));
  const added = items.filter((_, index) => known[index] === undefined);
  const changed = items.find((item, index) => {
    const before = known[index];
    return before !== undefined && !isDeepStrictEqual(saidBy(before), saidBy(item));
  });
  const isTwice = new Set(added.map((item) => item.id)).size < added.length;
  if (changed !== undefined || isTwice)
    throw refuse(
      `${changed === undefined ? 'Two items have one id' : `The conversation has another item with the id "${changed.id}"`}: leave ids out of new items.`,
      'input',
    );
  if (!conversations.hasRoom(id, added))
    throw refuse('The conversation is full. Begin a new one with what still counts.', 'conversation');
}

/** What was said before, then the input, without what clients send back of it; an input of nothing else is said again. */
export function continued(before: readonly Item[], input: readonly Item[]): Item[] {
  const known = new Map(before.map((item) => [item.id, item]));
  const isNew = (item: Item) => {
    const earlier = known.get(item.id);
    return earlier === undefined || !isDeepStrictEqual(saidBy(earlier), saidBy(item));
  };
  const added = input.filter(isNew);
  return [...before, ...(added.length > 0 ? added : input)];
}

/** What an item says, without what clients leave out. */
function saidBy({ type, role, content, call_id, name, arguments: given, output, ...more }: Item): unknown {
  const { encrypted_content, result, input, tools } = more;
  const parts = Array.isArray(content)
    ? content.map(({ text, type: kind, ...rest }) => text ?? [kind, rest])
    : [];
  return { type, role, parts, call_id, name, given, input, tools, output, encrypted_content, result };
}

/** What was said in the conversation that a request names, if it takes the new items too. */
function itemsOfConversation(
  id: string,
  kept: Responses,
  principal: Principal,
  added: readonly Item[],
): Item[] {
  const { conversations } = kept.store;
  if (conversations.find(id, principal) === undefined) throw conversation_not_found({ id });
  requireRoomIn(id, added, kept);
  return conversations.items(id);
}

/** What is stored counts on the quota of whoever asks, however the answer comes. */
export function requireRoom(
  input: readonly Item[],
  principal: Principal,
  engine: ResponsesApi['engine'],
): void {
  const message = engine.refusal(quotaKey(principal), Buffer.byteLength(JSON.stringify(input)));
  if (message !== undefined) throw openAiErrors.insufficient_quota({ message });
}

/** A page of items, as lists of this API are. */
export function listed(items: readonly Item[], { limit, order, after }: z.output<typeof listQuery>) {
  const sorted = order === 'asc' ? [...items] : [...items].reverse();
  const from = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw noSuchPlace(after);
  return pageOf(sorted.slice(from, from + limit), from + limit < sorted.length);
}

function noSuchPlace(after = '') {
  return refuse(`There is no item "${after}" in the list.`, 'after');
}

function pageOf(data: readonly Item[], hasMore: boolean) {
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { object: 'list', data, first_id, last_id, has_more: hasMore };
}

function shown({ id, createdAt, metadata: pairs }: { id: string; createdAt: number; metadata: object }) {
  return { id, object: 'conversation', created_at: createdAt, metadata: pairs };
}

/** Without our own mark of where an answer was drawn from. */
function plain({ outside: _mark, ...item }: Item): Item {
  return item as Item;
}

/** What was said before, as far back as it is kept. */
export function earlier(
  request: Partial<Pick<ResponseRequest, 'previous_response_id' | 'conversation'>>,
  kept: Responses,
  principal: Principal,
  added: readonly Item[],
): Item[] {
  const named = conversationOf(request);
  if (named !== undefined) return itemsOfConversation(named, kept, principal, added);
  const { previous_response_id: id } = request;
  if (!id) return [];
  const previous = kept.store.find(id, principal);
  const conversation = previous && conversationIn(previous.body);
  if (conversation !== undefined)
    throw refuse(
      kept.store.conversations.find(conversation, principal) === undefined
        ? `The conversation of the response "${id}" is not here any more: send what was said as input.`
        : `The response "${id}" is of a conversation: name "${conversation}" as conversation.`,
      'previous_response_id',
    );
  if (previous !== undefined && (kept.running(id) !== undefined || isRunning(previous.body)))
    throw refuse(`The response "${id}" is still being made: wait for its end.`, 'previous_response_id');
  const items = kept.store.conversation(id, principal);
  if (items !== undefined) return items;
  const message = `Previous response "${id}" is not here, or one before it: send the conversation as input.`;
  throw openAiErrors.previous_response_not_found({ message }, { details: { param: 'previous_response_id' } });
}
