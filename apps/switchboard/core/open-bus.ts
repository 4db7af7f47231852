import { join } from 'node:path';
import {
  type Bus,
  type BusLogger,
  createEmbeddedBus,
  createNatsBus,
  defaultDurableTopics,
  discardJournal,
} from '@trunkline/bus';
import { serviceHome } from '@trunkline/storage';
import { surfaces } from '../surfaces/list.ts';
import type { Surface } from '../surfaces/surface.ts';
import type { CoreOptions } from './options.ts';

export interface BusSettings {
  logger?: BusLogger;
  connectTimeoutMs?: number;
  /** Gives a bus also while NATS is away. */
  waitForServers?: boolean;
  /** From then on nothing waits for an election longer than a publish. */
  started?: Promise<unknown>;
  /** Records when the streams on NATS were created, to notice what vanishes while no switchboard runs. */
  streamsFile?: string;
}

const durableTopics = [
  ...defaultDurableTopics,
  ...surfaces.flatMap(({ durableTopics = [] }: Surface) => durableTopics),
  'operator.message.request',
  'schedule.fires',
  'config.files',
  'cluster.conversations',
  'cluster.responses',
  'cluster.tasks',
  'cluster.flows',
  'cluster.deliveries',
  'cluster.questions',
  'ceremony.#',
  'dispatch.dropped.#',
];

/** On NATS JetStream when NATS_URL is set, else inside this process. */
export async function openBus(options: CoreOptions, shared: BusSettings = {}): Promise<Bus> {
  if (options.natsUrl === undefined || options.natsUrl.length === 0) {
    return createEmbeddedBus({
      directory: join(serviceHome(options.trunklineHome, 'switchboard'), 'bus'),
      durableTopics,
      ...(shared.logger && { logger: shared.logger }),
    });
  }
  await discardJournal();
  return createNatsBus({
    servers: options.natsUrl.join(','),
    durableTopics,
    ackWaitMs: options.takeoverMs,
    replicas: options.natsReplicas,
    publishTimeoutMs: options.natsPublishTimeoutMs,
    ...access(options),
    ...shared,
  });
}

function access(options: CoreOptions) {
  const tls = {
    ...(options.natsTlsCa && { caFile: options.natsTlsCa }),
    ...(options.natsTlsCert && { certificateFile: options.natsTlsCert }),
    ...(options.natsTlsKey && { keyFile: options.natsTlsKey }),
  };
  return {
    ...(options.natsUser && { user: options.natsUser }),
    ...(options.natsPassword && { password: options.natsPassword }),
    ...(options.natsToken && { token: options.natsToken }),
    ...(options.natsCreds && { credentialsFile: options.natsCreds }),
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}
