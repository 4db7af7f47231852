import type { Channel } from '../workspace/schema/channels.ts';

const directMs = 15 * 60 * 1000;
const mostConversations = 10_000;

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
  readonly #talks = new Map<string, { agent: string; until: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  agentOf(talk: Talk): string | undefined {
    const key = keyOf(talk);
    const known = key === undefined ? undefined : this.#talks.get(key);
    return known !== undefined && known.until > this.#now() ? known.agent : undefined;
  }

  remember(talk: Talk, agent: string): void {
    const key = keyOf(talk);
    if (key === undefined) return;
    const lasts = talk.direct ? directMs : (talk.channel?.conversation?.timeoutMs ?? 0);
    this.#talks.delete(key);
    this.#talks.set(key, { agent, until: this.#now() + lasts });
    const oldest = this.#talks.keys().next().value;
    if (this.#talks.size > mostConversations && oldest !== undefined) this.#talks.delete(oldest);
  }
}

/** Undefined for what is no conversation. */
function keyOf({ surface, channelId, userId, direct, channel }: Talk): string | undefined {
  if (userId === undefined) return undefined;
  if (direct) return JSON.stringify([surface, userId]);
  return channel?.conversation?.enabled ? JSON.stringify([surface, channelId, userId]) : undefined;
}
