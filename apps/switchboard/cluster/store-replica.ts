import { setTimeout as delay } from 'node:timers/promises';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { nodeName } from './leader.ts';
import { isSentAgain, type Sealing, SharedLog } from './workspace-replica.ts';

/** A store whose rows every switchboard has. */
interface SharedStore<Entry> {
  /** Calls back with each change that is made here, until the function it gives is called. */
  onWrite(listener: (entry: Entry) => Promise<void>): () => void;
  /** Makes a change that was made elsewhere, or here. */
  take(entry: Entry): void;
  /** What a change is about: those of one thing reach the others in the order in which they were made. */
  keyOf(entry: Entry): string;
}

interface SharedRows<Entry> {
  /** `conversations`: the topic of the entries, and the name of the place in it. */
  subject: 'conversations' | 'responses';
  store: SharedStore<Entry>;
  /** Whether own entries come too, so that all end alike where several change one row. */
  takesOwn: boolean;
}

/** How long the end of the switchboard waits for rows that are on their way. */
const stopLimitMs = 2000;

/** On a shared bus, every switchboard has what all have in a store, so that any can go on with it. Sealed: it is private. */
export function createStoreReplica<Entry>(
  { subject, store, takesOwn }: SharedRows<Entry>,
  { seal, exchange }: Sealing,
): Plugin {
  const topic = `cluster.${subject}`;
  let log: SharedLog<{ sealed: string }> | undefined;
  let forget: () => void = () => undefined;
  const underWay = new Set<Promise<void>>();

  async function start({ bus, home, logger }: PluginContext): Promise<void> {
    if (bus.status().engine === 'embedded') return;
    const durable = `${subject}-${await nodeName(home)}`;
    const onEntry = async ({ sealed }: { sealed: string }, isOwn: boolean) => {
      if (isOwn && !takesOwn) return;
      try {
        store.take(JSON.parse(await exchange.open(sealed, topic)) as Entry);
      } catch (error) {
        // A retry would not help, and later entries must not wait.
        logger.error({ err: error, topic }, 'failed to take over a row of another switchboard');
      }
    };
    const shared = new SharedLog({ bus, topic, durable, logger, onEntry });
    await shared.start();
    forget = store.onWrite((entry) => {
      const sealed = seal.seal(JSON.stringify(entry), topic);
      const sharing = shared
        .shareSurely({ sealed }, store.keyOf(entry))
        .catch((error: unknown) =>
          logger.warn(
            { err: error, topic },
            `failed to share a row${isSentAgain(error) ? '; retrying' : ''}`,
          ),
        )
        .finally(() => underWay.delete(sharing));
      underWay.add(sharing);
      return sharing;
    });
    log = shared;
  }

  async function stop(): Promise<void> {
    forget();
    await Promise.race([Promise.all(underWay), delay(stopLimitMs, undefined, { ref: false })]);
    await log?.stop();
  }

  const description = `Shares ${subject} with the other switchboards of a bus.`;
  return { name: `${subject}-replica`, description, start, stop };
}
