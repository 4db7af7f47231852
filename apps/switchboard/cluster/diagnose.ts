import type { BusCluster } from '@trunkline/bus';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { openBus } from '../core/open-bus.ts';
import type { CoreOptions } from '../core/options.ts';

const connectTimeoutMs = 5000;
const subject = 'bus';

/** Connects to the NATS servers if NATS_URL names some; the embedded bus needs nothing. */
export async function diagnoseBus(options: CoreOptions): Promise<Diagnosis[]> {
  if (!options.natsUrl) {
    return [
      { subject, state: 'ok', words: 'embedded. Set NATS_URL to share it between several switchboards.' },
    ];
  }
  try {
    const bus = await openBus(options, { connectTimeoutMs });
    try {
      const cluster = await bus.cluster();
      return [
        { subject, state: 'ok', words: 'the NATS servers answer and JetStream is ready.' },
        ...copiesOf(cluster),
        ...warningOf(cluster),
      ];
    } finally {
      await bus.stop();
    }
  } catch (error) {
    const advice =
      'Check NATS_URL and the credentials, and that the server runs with JetStream (nats-server -js).';
    return [{ subject, state: 'failed', words: errorMessage(error), advice }];
  }
}

function warningOf({ warning }: BusCluster): Diagnosis[] {
  const advice = 'Replace the servers one after the other; what they store stays.';
  return warning === undefined ? [] : [{ subject, state: 'warning', words: warning, advice }];
}

/** How many copies a cluster keeps, who leads, and which servers are not up to date. */
function copiesOf({ name, streams }: BusCluster): Diagnosis[] {
  const [journal] = streams;
  if (name === undefined || journal === undefined) return [];
  const fewest = Math.min(...streams.map(({ replicas }) => replicas));
  const peers = streams.flatMap((stream) => stream.peers);
  const behind = [...new Set(peers.filter(({ current }) => !current).map((peer) => peer.name))].join(', ');
  const others = journal.peers.map((peer) => peer.name).join(', ');
  const copies = fewest === 1 ? 'one copy' : `${fewest} copies`;
  const words = `${copies} in the cluster ${name}; ${journal.leader ?? 'nobody'} leads the journal${others && `, ${others} follow`}.`;
  if (behind !== '') {
    const advice = `Start ${behind}, or see what the log there says.`;
    return [{ subject, state: 'warning', words: `${words} Not up to date: ${behind}.`, advice }];
  }
  if (fewest > 1) return [{ subject, state: 'ok', words }];
  const advice =
    'Three servers in the cluster keep three copies, so that any one may fail. See NATS_REPLICAS.';
  return [{ subject, state: 'warning', words, advice }];
}
