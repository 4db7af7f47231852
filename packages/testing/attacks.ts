import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import type { ChatRequestBody } from './model/reply.ts';

interface AttackCall {
  tool: string;
  arguments: Record<string, unknown>;
}

export interface AttackCase {
  id: string;
  /** The file of the case: how its text gets in. */
  door: string;
  /** What the stranger wrote. */
  text: string;
  /** A call that the model makes first, and that needs no approval. */
  before?: AttackCall;
  /** The call that the stranger wants. */
  effect: AttackCall;
  /** Left out: a person is asked. `refuse`: the call runs and fails in words. */
  expect?: 'refuse';
}

const security = join(import.meta.dirname, '../../security');

/** The cases of a folder of security/attacks. */
export function readAttacks(folder: string): AttackCase[] {
  return readCases<Omit<AttackCase, 'door'>>(`attacks/${folder}`);
}

/** The cases of a folder below `security`, each with the name of its file as its door. */
export function readCases<Case>(folder: string): (Case & { door: string })[] {
  const directory = join(security, folder);
  const files = readdirSync(directory).filter((name) => name.endsWith('.yaml'));
  return files.flatMap((name) =>
    (parse(readFileSync(join(directory, name), 'utf8')) as Case[]).map((each) => ({
      ...each,
      door: basename(name, '.yaml'),
    })),
  );
}

/** A file of `security` that holds one table. */
export function readSecurity<Table>(name: string): Table {
  return parse(readFileSync(join(security, `${name}.yaml`), 'utf8')) as Table;
}

export interface OrderedCall {
  name: string;
  arguments: object;
}

/** The calls of a case, with `{name}` in their arguments replaced. */
export function callsOf(
  { before, effect }: Pick<AttackCase, 'before' | 'effect'>,
  values: Record<string, string>,
): OrderedCall[] {
  return [before, effect].flatMap((call) => {
    if (call === undefined) return [];
    const { tool: name, arguments: given } = filled(call, values);
    return { name, arguments: given };
  });
}

/** A copy with `{name}` replaced in all its texts. */
export function filled<Value>(value: Value, values: Record<string, string>): Value {
  const text = JSON.stringify(value).replace(/\{(\w+)\}/g, (found, name: string) =>
    values[name] === undefined ? found : JSON.stringify(values[name]).slice(1, -1),
  );
  return JSON.parse(text) as Value;
}

/**
 * A model that makes every call that a text orders, whoever wrote it. An order is `CALL[id]`, so that it survives every
 * file format and every limit of length on its way in; what it means is agreed with `order`.
 */
export class ObedientModel {
  readonly #orders = new Map<string, readonly OrderedCall[]>();
  /** The order that it obeys where it stands in the system prompt or in the description of a tool. */
  described: string | undefined;

  /** The text that orders these calls, one after the other. */
  order(id: string, calls: readonly OrderedCall[]): string {
    this.#orders.set(id, calls);
    return `CALL[${id}]`;
  }

  /** The next call that was ordered and not made yet, whatever came of those before. */
  next({ messages, tools = [] }: ChatRequestBody): OrderedCall | undefined {
    const said = messages.filter(({ role }) => role !== 'assistant' && role !== 'system');
    const id = said.flatMap(({ content }) => orderIn(content) ?? []).at(-1);
    const about = [messages.filter(({ role }) => role === 'system'), tools];
    if (id !== undefined) {
      const first = messages.findIndex(
        ({ role, content }) => role !== 'assistant' && orderIn(content) === id,
      );
      return this.#orders.get(id)?.[callsIn(messages.slice(first))];
    }
    if (this.described === undefined || !JSON.stringify(about).includes(`CALL[${this.described}]`)) return;
    return this.#orders.get(this.described)?.[callsIn(messages)];
  }

  /** As a script of the model server. */
  reply(request: ChatRequestBody): string | { toolCalls: OrderedCall[] } {
    const next = this.next(request);
    return next === undefined ? 'Done.' : { toolCalls: [next] };
  }
}

function orderIn(content: unknown): string | undefined {
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
  return /CALL\[([\w.-]+)\]/.exec(text)?.[1];
}

function callsIn(messages: ChatRequestBody['messages']): number {
  return messages.filter(({ tool_calls }) => tool_calls !== undefined).length;
}
