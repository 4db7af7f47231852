import type { ConversationStore } from '../conversations/conversation-store.ts';
import type { Channel } from '../workspace/schema/channels.ts';

const directMs = 15 * 60 * 1000;

export interface Talk {
  /** The surface: chat, tracker, messenger. */
  surface: string;
  channelId: string | undefined;
  userId: string | undefined;
  /** Whether it is a direct message. */
  direct: boolean;
  channel: Channel | undefined;
}

/** Who talks with which agent: a direct message stays with its agent for 15 minutes, a channel's talk as long as it says. */
export class Conversations {
  readonly #store: Pick<ConversationStore, 'talk' | 'hold'>;

  constructor(store: Pick<ConversationStore, 'talk' | 'hold'>) {
    this.#store = store;
  }

  agentOf(talk: Talk): string | undefined {
    const key = keyOf(talk);
    return key === undefined ? undefined : this.#store.talk(key)?.agent;
  }

  /** The id of the conversation; undefined for what is none. */
  remember(talk: Talk, agent: string): string | undefined {
    const key = keyOf(talk);
    if (key === undefined) return undefined;
    const lastsMs = talk.direct ? directMs : (talk.channel?.conversation?.timeoutMs ?? 0);
    return this.#store.hold(key, agent, lastsMs);
  }
}

/** Undefined for what is no conversation. */
function keyOf({ surface, channelId, userId, direct, channel }: Talk): string | undefined {
  if (userId === undefined) return undefined;
  if (direct) return JSON.stringify([surface, userId]);
  return channel?.conversation?.enabled ? JSON.stringify([surface, channelId, userId]) : undefined;
}
