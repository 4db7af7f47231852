import { setTimeout as delay } from 'node:timers/promises';
import type { ConversationEntry, ConversationStore } from '../conversations/conversation-store.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { nodeName } from './leader.ts';
import { type Sealing, SharedLog } from './workspace-replica.ts';

const conversationTopic = 'cluster.conversations';
/** How long the end of the switchboard waits for rows that are on their way. */
const stopLimitMs = 2000;

/** On a shared bus, every switchboard has all conversations, so that a person can go on at any. Sealed: they are private. */
export function createConversationReplica(store: ConversationStore, { seal, exchange }: Sealing): Plugin {
  let log: SharedLog<{ sealed: string }> | undefined;
  let forget: () => void = () => undefined;
  const underWay = new Set<Promise<void>>();

  async function start({ bus, home, logger }: PluginContext): Promise<void> {
    if (bus.status().engine === 'embedded') return;
    const durable = `conversations-${await nodeName(home)}`;
    // In the same order everywhere, own ones included, so that all end alike.
    const onEntry = async ({ sealed }: { sealed: string }) => {
      try {
        store.take(JSON.parse(await exchange.open(sealed, conversationTopic)) as ConversationEntry);
      } catch (error) {
        // A retry would not help, and later entries must not wait.
        logger.error({ err: error }, 'failed to take over a turn of another switchboard');
      }
    };
    const shared = new SharedLog({ bus, topic: conversationTopic, durable, onEntry });
    await shared.start();
    forget = store.onWrite((entry) => {
      const sealed = seal.seal(JSON.stringify(entry), conversationTopic);
      const sharing = shared
        .share({ sealed })
        .catch((error: unknown) => logger.warn({ err: error }, 'failed to share a conversation'))
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

  return { name: 'conversation-replica', start, stop };
}
