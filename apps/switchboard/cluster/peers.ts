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
/** A list is shown without those that do not answer in this time. */
const answerMs = 1000;
/** Questions that wait for NATS at once; with more the answer is what is known here. */
const mostUnsent = 16;

/** Answers what another switchboard asks on behalf of somebody who may see only their own. */
type Read = (query: Record<string, unknown>, viewer: Principal) => unknown;

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
  const nodes = new Map<string, ClusterNode & { heardAt: number }>();
  const waiting = new Map<string, (node: string, answer: unknown) => void>();
  let own = '';
  let unsent = 0;
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
    return [self(), ...others().map(({ heardAt: _, ...node }) => node)];
  }

  function others() {
    const alive = [...nodes.values()].filter(({ heardAt }) => now() - heardAt < silentMs);
    return alive.toSorted((one, other) => (one.node < other.node ? -1 : 1));
  }

  async function hello(isNew: boolean): Promise<void> {
    if (!bus.status().connected) return;
    await bus
      .publish({ topic: helloTopic, payload: { ...self(), isNew } })
      .catch((error: unknown) => logger.debug({ err: error }, 'failed to greet other switchboards'));
  }

  async function hear({ payload }: Message): Promise<void> {
    const { node, version, isLeader: leads, startedAt: since, isNew } = fieldsOf(payload);
    if (typeof node !== 'string' || node === own) return;
    nodes.set(node, {
      node,
      version: text(version) ?? '',
      isLeader: leads === true,
      startedAt: Number(since),
      heardAt: now(),
    });
    if (isNew === true) await hello(false);
  }

  /** What the other switchboards answer; those that stay silent, or know nothing, are left out. */
  async function ask<Answer>(kind: string, query: object, viewer: Principal): Promise<Answer[]> {
    return (await askAll<Answer>(kind, query, viewer)).answers;
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
    waiting.set(id, (node, answer) => {
      if (asked.delete(node) && answer !== undefined && answer !== null) answers.push(answer as Answer);
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
    const payload = JSON.parse(JSON.stringify({ id, node: own, answer: answer ?? null }));
    // On behalf of whoever asked, so that the feed shows it to nobody else.
    await bus.publish({ topic: `${answerTopic}.${from}`, payload, principal: message.principal });
  }

  async function take({ payload }: Message): Promise<void> {
    const { id, node, answer } = fieldsOf(payload);
    waiting.get(text(id) ?? '')?.(text(node) ?? '', answer);
  }

  return { offer, start, stop, list, ask, askAll };
}

export type Peers = ReturnType<typeof createPeers>;
