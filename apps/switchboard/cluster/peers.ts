import { randomUUID } from 'node:crypto';
import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import type { ClusterNode } from '../api-types.ts';
import { principalOf } from '../core/messages.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import manifest from '../package.json' with { type: 'json' };

const helloTopic = 'cluster.hello';
const readTopic = 'cluster.read';
const answerTopic = 'cluster.answer';
const helloEveryMs = 2000;
/** A switchboard that was not heard for this long is not waited for. */
const silentMs = 3 * helloEveryMs;
/**
 * Own greetings that come back over the bus while another switchboard greets no more, until its work is taken over. Counted
 * and not timed: while NATS is away or this process stands still none comes back, and nobody is taken for dead.
 */
const goneAfter = 5;
/** A list is shown without those that send nothing for this time. */
const answerMs = 1000;
/** For so long after it was heard last, a list says that a switchboard is missing from it. */
const missedMs = 10 * 60 * 1000;
/** Bytes of an answer that go as one message; NATS takes a megabyte. Longer lists go in parts. */
const longestPart = 500_000;
/** Characters of the JSON of any other answer that is longer, in each of its slices. */
const sliceLength = 100_000;
/** Questions that wait for NATS at once; with more the answer is what is known here. */
const mostUnsent = 16;

/** Answers what another switchboard asks on behalf of somebody who may see only their own. */
type Read = (query: Record<string, unknown>, viewer: Principal) => unknown;

/** A message of an answer: of a list some rows, of anything else the whole or a slice of its JSON. */
type AnswerPart = { answer: unknown } | { slice: string; slices: number };

interface PeerSettings {
  bus: Bus;
  logger: Logger;
  isLeader(): boolean;
  now?: () => number;
}

/**
 * The other switchboards on this bus: who they are, and what each knows. Each keeps what it did in databases of its own; a
 * list that shows everything asks them all.
 */
export function createPeers({ bus, logger, isLeader, now = Date.now }: PeerSettings) {
  const startedAt = now();
  const reads = new Map<string, Read>();
  const nodes = new Map<string, ClusterNode & { heardAt: number; heardIn: number }>();
  const waiting = new Map<string, (node: string, part: Record<string, unknown>) => void>();
  let own = '';
  let unsent = 0;
  /** Own greetings that came back, and when the last of them was counted. */
  let rounds = 0;
  let countedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  /** What this switchboard tells others under a name. */
  function offer(kind: string, read: Read): void {
    reads.set(kind, read);
  }

  async function start(node: string): Promise<void> {
    own = node;
    if (bus.status().engine === 'embedded') return;
    await bus.subscribe(helloTopic, hear, { plugin: 'cluster' });
    await bus.subscribe(readTopic, reply, { plugin: 'cluster' });
    await bus.subscribe(`${answerTopic}.${own}`, take, { plugin: 'cluster' });
    await hello(true);
    timer = setInterval(() => void hello(false), helloEveryMs).unref();
  }

  function stop(): void {
    clearInterval(timer);
  }

  function self(): ClusterNode {
    return { node: own, version: manifest.version, isLeader: isLeader(), startedAt };
  }

  /** This switchboard first, then those that were heard lately, by name. */
  function list(): ClusterNode[] {
    return [self(), ...others().map(({ heardAt: _, heardIn: __, ...node }) => node)];
  }

  /** Whether a switchboard has been silent for so long, while it could have been heard, that it must be dead. */
  function isGone(node: string): boolean {
    return node !== own && rounds - (nodes.get(node)?.heardIn ?? 0) >= goneAfter;
  }

  /** Greetings that come at once, after a halt of the bus, count as one: those of others may be behind them. */
  function countRound(): void {
    if (performance.now() - countedAt < helloEveryMs / 2) return;
    countedAt = performance.now();
    rounds += 1;
  }

  function others() {
    const alive = [...nodes.values()].filter(({ heardAt }) => now() - heardAt < silentMs);
    return alive.toSorted((one, other) => (one.node < other.node ? -1 : 1));
  }

  /** Whether a switchboard was there lately and is silent now: what only it knows is in no list. */
  function misses(): boolean {
    return silent(missedMs).length > 0;
  }

  /** Switchboards that were there within this time and are silent now: what only they store cannot be had. */
  function silent(withinMs: number): string[] {
    const away = [...nodes.values()].filter(({ heardAt }) => {
      const forMs = now() - heardAt;
      return forMs >= silentMs && forMs < withinMs;
    });
    return away.map(({ node }) => node).sort();
  }

  async function hello(isNew: boolean): Promise<void> {
    if (!bus.status().connected) return;
    await bus
      .publish({ topic: helloTopic, payload: { ...self(), isNew } })
      .catch((error: unknown) => logger.debug({ err: error }, 'failed to greet other switchboards'));
  }

  async function hear({ payload }: Message): Promise<void> {
    const { node, version, isLeader: leads, startedAt: since, isNew } = fieldsOf(payload);
    if (node === own) countRound();
    if (typeof node !== 'string' || node === own) return;
    nodes.set(node, {
      node,
      version: text(version) ?? '',
      isLeader: leads === true,
      startedAt: Number(since),
      heardAt: now(),
      heardIn: rounds,
    });
    if (isNew === true) await hello(false);
  }

  /** What the other switchboards answer; those that stay silent, or know nothing, are left out. */
  async function ask<Answer>(kind: string, query: object, viewer: Principal): Promise<Answer[]> {
    return (await askAll<Answer>(kind, query, viewer)).answers;
  }

  /** As `ask`, for a list that says so where something may be missing from it. */
  async function askForList<Row>(
    kind: string,
    query: object,
    viewer: Principal,
  ): Promise<{ lists: Row[][]; gap: { incomplete?: true } }> {
    const { answers: lists, gap } = await askWithGap<Row[]>(kind, query, viewer);
    return { lists, gap };
  }

  /** As `ask`, and whether a switchboard that may know more is silent. */
  async function askWithGap<Answer>(
    kind: string,
    query: object,
    viewer: Principal,
  ): Promise<{ answers: Answer[]; gap: { incomplete?: true } }> {
    const { answers, isComplete } = await askAll<Answer>(kind, query, viewer);
    return { answers, gap: isComplete && !misses() ? {} : { incomplete: true } };
  }

  /** As `ask`, and whether all could be asked and have answered. */
  async function askAll<Answer>(
    kind: string,
    query: object,
    viewer: Principal,
  ): Promise<{ answers: Answer[]; isComplete: boolean }> {
    const asked = new Set(others().map(({ node }) => node));
    const answers: Answer[] = [];
    if (asked.size === 0 && bus.status().connected) return { answers, isComplete: true };
    if (unsent >= mostUnsent || !bus.status().connected) return { answers, isComplete: false };
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const limit = setTimeout(resolve, answerMs);
    const sliced = new Map<string, string[]>();
    waiting.set(id, (node, { answer, slice, slices, more }) => {
      if (!asked.has(node)) return;
      limit.refresh();
      if (typeof slice === 'string') {
        const known = [...(sliced.get(node) ?? []), slice];
        sliced.set(node, known);
        if (known.length === slices) answers.push(JSON.parse(known.join('')) as Answer);
        // One that was lost leaves no answer.
        else if (more !== true) return;
      } else if (answer !== undefined && answer !== null) answers.push(answer as Answer);
      if (more !== true) asked.delete(node);
      if (asked.size === 0) resolve();
    });
    try {
      const payload = { id, from: own, kind, query: JSON.parse(JSON.stringify(query)) };
      unsent += 1;
      const sent = bus.publish({ topic: readTopic, payload, principal: viewer }).finally(() => {
        unsent -= 1;
      });
      // While the journal has no leader, a message waits for longer than anybody waits for a list.
      await Promise.race([promise, sent.then(() => promise)]);
    } catch (error) {
      logger.warn({ err: error, kind }, 'failed to ask other switchboards');
    } finally {
      clearTimeout(limit);
      waiting.delete(id);
    }
    return { answers, isComplete: asked.size === 0 };
  }

  async function reply(message: Message): Promise<void> {
    const { id, from, kind, query } = fieldsOf(message.payload);
    const read = reads.get(text(kind) ?? '');
    if (typeof from !== 'string' || from === own) return;
    const answer = await read?.(fieldsOf(query), principalOf(message));
    const parts = partsOf(answer ?? null);
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1;
      const payload = JSON.parse(JSON.stringify({ id, node: own, ...part, ...(!isLast && { more: true }) }));
      // On behalf of whoever asked, so that the feed shows it to nobody else.
      await bus.publish({ topic: `${answerTopic}.${from}`, payload, principal: message.principal });
    }
  }

  async function take({ payload }: Message): Promise<void> {
    const { id, node, ...part } = fieldsOf(payload);
    waiting.get(text(id) ?? '')?.(text(node) ?? '', part);
  }

  return { offer, start, stop, list, isGone, silent, ask, askAll, askForList, askWithGap };
}

/** An answer in parts of which each fits into a message. */
function partsOf(answer: unknown): AnswerPart[] {
  if (Array.isArray(answer)) return rowsOf(answer).map((rows) => ({ answer: rows }));
  const json = JSON.stringify(answer);
  if (Buffer.byteLength(json) <= longestPart) return [{ answer }];
  const slices = Math.ceil(json.length / sliceLength);
  return Array.from({ length: slices }, (_, index) => ({
    slice: json.slice(index * sliceLength, (index + 1) * sliceLength),
    slices,
  }));
}

function rowsOf(rows: readonly unknown[]): unknown[][] {
  let part: unknown[] = [];
  const parts = [part];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row));
    if (part.length > 0 && bytes + size > longestPart) {
      part = [];
      parts.push(part);
      bytes = 0;
    }
    part.push(row);
    bytes += size;
  }
  return parts;
}

export type Peers = ReturnType<typeof createPeers>;
