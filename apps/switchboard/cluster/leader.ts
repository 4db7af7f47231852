import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Lease } from '@trunkline/bus';
import { describeRoute } from '@trunkline/http';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import type { Hono } from 'hono';
import type { Cluster, ClusterNode } from '../api-types.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { withoutUndefined } from '../dispatch/request.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import type { BusMonitor } from './bus-monitor.ts';
import type { Peers } from './peers.ts';

/** For how long what a switchboard tells of itself counts. */
const keptMs = 1000;

/** What a switchboard tells of itself when it is asked. */
type NodeLoad = Pick<ClusterNode, 'node' | 'queued' | 'behind' | 'server' | 'serverVersion'>;

/** The leader fires schedules for all switchboards that share the bus. */
export interface Leader {
  isLeader(): boolean;
  /** Asks the store and rejects when another leads by now; concurrent calls share one answer. */
  confirm(): Promise<number>;
  /** Calls back with the token of each term that starts, and with undefined when one ends. */
  onChange(listener: (token: number | undefined) => void): void;
}

/** Holds the lease, or waits for it. With the embedded bus it is always held. */
export class LeaderPlugin implements Plugin, Leader {
  readonly name = 'leader';
  readonly description = 'Chooses the one switchboard that runs schedules, ceremonies and alerts.';
  readonly #ttlMs: number;
  readonly #listeners: ((token: number | undefined) => void)[] = [];
  #node = '';
  #lease: Lease | undefined;
  #asking: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  mount(app: Hono<SwitchboardEnv>, { monitor, peers }: PluginContext): void {
    const self = { node: () => this.#node, isLeader: () => this.isLeader() };
    mountCluster(app, monitor, peers, self);
  }

  async start({ bus, logger, home }: PluginContext): Promise<void> {
    this.#node = await nodeName(home);
    const { engine } = bus.status();
    const onChange = (token: number | undefined) => {
      // Alone it always leads.
      logger[engine === 'embedded' ? 'debug' : 'info'](
        { term: token },
        token === undefined ? 'leadership ended' : 'leadership started',
      );
      for (const listener of this.#listeners) listener(token);
    };
    this.#lease = await bus.lease('leader', { ttlMs: this.#ttlMs, onChange });
  }

  async stop(): Promise<void> {
    await this.#lease?.release();
  }

  isLeader(): boolean {
    return this.#lease?.token !== undefined;
  }

  /** A confirmation under way may predate this call, so this call waits for the next one. */
  confirm(): Promise<number> {
    if (this.#asking === undefined) return this.#ask();
    this.#next ??= this.#asking.then(
      () => this.#askNext(),
      () => this.#askNext(),
    );
    return this.#next;
  }

  onChange(listener: (token: number | undefined) => void): void {
    this.#listeners.push(listener);
    if (this.#lease?.token !== undefined) listener(this.#lease.token);
  }

  #askNext(): Promise<number> {
    this.#next = undefined;
    return this.#ask();
  }

  #ask(): Promise<number> {
    const lease = this.#lease;
    if (lease === undefined) return Promise.reject(new Error('The lease is not held yet.'));
    this.#asking = lease.confirm().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }
}

/** Calls `lead` at each change of leadership, one call after the other, until it is stopped. */
export function followLeader(
  leader: Leader,
  lead: (isLeader: boolean) => Promise<void>,
  onError: (error: unknown) => void,
) {
  let turn: Promise<void> = Promise.resolve();
  let isOpen = true;
  leader.onChange((token) => {
    if (isOpen) turn = turn.then(() => lead(token !== undefined)).catch(onError);
  });
  return {
    /** Resolves when the calls so far have ended. */
    idle: () => turn,
    async stop(): Promise<void> {
      isOpen = false;
      await turn;
    },
  };
}

/** The name of this switchboard among those that share a bus; created once and stored with its data. */
export async function nodeName(home: string): Promise<string> {
  const path = join(home, 'node.json');
  const known = await readJsonFile(path);
  if (isNamed(known)) return known.name;
  const name = randomBytes(6).toString('hex');
  await writeFileAtomic(path, JSON.stringify({ name }));
  return name;
}

function isNamed(value: unknown): value is { name: string } {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}

function mountCluster(
  app: Hono<SwitchboardEnv>,
  monitor: BusMonitor,
  peers: Pick<Peers, 'list' | 'ask' | 'offer'>,
  self: { node(): string; isLeader(): boolean },
): void {
  const ask = async (): Promise<NodeLoad> => {
    const { queued, engine } = await monitor.health();
    const { behind, server, serverVersion } = (engine === 'nats' && (await monitor.cluster())) || {};
    return { node: self.node(), queued, ...withoutUndefined({ behind, server, serverVersion }) };
  };
  let kept: { load: Promise<NodeLoad>; at: number } | undefined;
  /** Every open page asks every two seconds, and each answer asks NATS about every stream. */
  const load = (): Promise<NodeLoad> => {
    if (kept === undefined || performance.now() - kept.at >= keptMs)
      kept = { load: ask(), at: performance.now() };
    return kept.load;
  };
  peers.offer('node', load);
  app.get(
    '/api/cluster',
    describeRoute({ summary: 'This switchboard among those that share its bus, and the servers of the bus' }),
    async (context) => {
      const { engine, connected, problem } = await monitor.health();
      const known = engine === 'embedded' ? undefined : await monitor.cluster();
      const elsewhere = peers.ask<NodeLoad>('node', {}, context.get('principal'));
      const loads = [await load(), ...(await elsewhere)];
      return context.json({
        success: true,
        data: {
          node: self.node(),
          isLeader: self.isLeader(),
          bus: engine,
          connected,
          ...(problem !== undefined && { problem }),
          nodes: peers.list().map((each) => ({ ...each, ...loads.find(({ node }) => node === each.node) })),
          ...(known && { nats: known }),
        } satisfies Cluster,
      });
    },
  );
}
