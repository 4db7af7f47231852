import type { Bus, BusCluster, BusStatus } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';

/** A load balancer may ask often, from several machines. */
const freshMs = 1000;

/** The state of the bus for `/healthz`, `/api/cluster` and the status page. */
interface BusHealth extends BusStatus {
  /** Copies of the journal on NATS, who leads it and who else has it. */
  replicas?: number;
  leader?: string;
  peers?: string[];
}

export interface BusMonitor {
  /** Why messages cannot be taken now; undefined when they can. Asks the journal, at most once a second. */
  problem(): Promise<string | undefined>;
  /** Undefined while the servers do not tell. */
  cluster(): Promise<BusCluster | undefined>;
  health(): Promise<BusHealth>;
  /** From now on there is this problem, whatever the bus says: nothing can be done with messages. */
  fail(words: string): void;
}

export function createBusMonitor(bus: Bus, logger: Logger, now = () => performance.now()): BusMonitor {
  let said: string | undefined;
  let failure: string | undefined;
  const problem = fresh(async () => {
    if (failure !== undefined) return failure;
    const words = await bus.probe().then(() => undefined, errorMessage);
    if (words !== said) {
      if (words === undefined) logger.info({}, 'bus takes messages again');
      else logger.warn({ problem: words }, 'bus takes no messages');
    }
    said = words;
    return words;
  }, now);
  const cluster = fresh(async () => await bus.cluster().catch(() => undefined), now);

  async function health(): Promise<BusHealth> {
    const status = bus.status();
    if (status.engine === 'embedded') return status;
    const words = await problem();
    const known = words === undefined ? await cluster() : undefined;
    const journal = known?.streams.find(({ name }) => name.endsWith('-journal'));
    return {
      ...status,
      ...(words !== undefined && { problem: words }),
      ...(journal && { replicas: journal.replicas, peers: journal.peers.map(({ name }) => name) }),
      ...(journal?.leader !== undefined && { leader: journal.leader }),
    };
  }

  const fail = (words: string) => {
    failure = words;
  };

  return { problem, cluster, health, fail };
}

/** Shares one answer among all who ask within a second. */
function fresh<Answer>(ask: () => Promise<Answer>, now: () => number): () => Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  let until = 0;
  return () => {
    if (answer === undefined || now() > until) {
      until = Number.POSITIVE_INFINITY;
      answer = ask().finally(() => {
        until = now() + freshMs;
      });
    }
    return answer;
  };
}
