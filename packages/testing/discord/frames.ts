export interface GuildBot {
  id: string;
  name: string;
}

/** What a bot gets first. */
export function readyFrame({ id, name }: GuildBot, guildId: string, gatewayUrl: string) {
  return {
    v: 10,
    user: { id, username: name, discriminator: '0000', avatar: null, bot: true },
    guilds: [{ id: guildId, unavailable: true }],
    session_id: `session-${id}`,
    resume_gateway_url: gatewayUrl,
    application: { id, flags: 0 },
    shard: [0, 1],
  };
}

export function guildFrame(id: string) {
  const none: unknown[] = [];
  return {
    id,
    name: 'Guild',
    owner_id: '1',
    unavailable: false,
    channels: none,
    members: none,
    roles: none,
    emojis: none,
    stickers: none,
    features: none,
    member_count: 2,
    joined_at: new Date().toISOString(),
    voice_states: none,
    threads: none,
    presences: none,
    stage_instances: none,
    guild_scheduled_events: none,
  };
}

/** What a person says. */
export interface Saying {
  content: string;
  channelId: string;
  userId?: string;
  /** Whom it mentions. */
  mentions?: string[];
  /** Whether another bot says it. */
  isBot?: boolean | undefined;
  /** A direct message to this bot. */
  to?: string;
  attachments?: readonly SentAttachment[];
}

/** A file of a message, as Discord describes it. */
interface SentAttachment {
  id: string;
  filename: string;
  url: string;
  proxy_url: string;
  size: number;
  content_type?: string;
}

interface Said {
  id: string;
  channelId: string;
  content: string;
  userId: string;
  mentions: readonly string[];
  isBot?: boolean | undefined;
  /** Undefined in a direct message. */
  guildId: string | undefined;
  attachments?: readonly SentAttachment[] | undefined;
}

export function messageFrame(said: Said) {
  const { id, channelId, content, userId, mentions, isBot = false, guildId, attachments = [] } = said;
  return {
    id,
    channel_id: channelId,
    ...(guildId !== undefined && { guild_id: guildId }),
    content,
    author: { id: userId, username: `user-${userId.at(-1)}`, discriminator: '0', avatar: null, bot: isBot },
    mentions: mentions.map((mention) => ({ id: mention, username: 'bot', discriminator: '0', avatar: null })),
    mention_roles: [],
    attachments,
    embeds: [],
    timestamp: new Date().toISOString(),
    edited_timestamp: null,
    tts: false,
    mention_everyone: false,
    pinned: false,
    type: 0,
    channel_type: guildId === undefined ? 1 : 0,
  };
}

interface Used {
  id: string;
  token: string;
  type: 'command' | 'autocomplete';
  data: object;
  channelId: string;
  guildId: string;
  applicationId: string | undefined;
}

export function interactionFrame({ id, token, type, data, channelId, guildId, applicationId }: Used) {
  const user = { id: '500000000000000001', username: 'ada', discriminator: '0', avatar: null };
  return {
    id,
    application_id: applicationId,
    type: type === 'command' ? 2 : 4,
    token,
    version: 1,
    guild_id: guildId,
    channel_id: channelId,
    channel: { id: channelId, type: 0 },
    member: { user, roles: [], joined_at: new Date().toISOString(), permissions: '0', flags: 0 },
    locale: 'en-US',
    entitlements: [],
    authorizing_integration_owners: {},
    app_permissions: '0',
    data: { id: '77', type: 1, ...data },
  };
}

/** What bots post. */
export interface PostBody {
  content: string;
  nonce?: string;
  enforce_nonce?: boolean;
  allowed_mentions?: { parse: string[] };
  flags?: number;
}

/** When the ids of the product begin. */
const firstMs = 1_420_070_400_000;

/** The first id of a moment. */
export function snowflake(time: number): bigint {
  return BigInt(time - firstMs) << 22n;
}

export const foreign = {
  status: 403,
  body: { message: 'Cannot edit a message authored by another user', code: 50_005 },
};
export const unauthorized = { status: 401, body: { message: '401: Unauthorized', code: 0 } };

export function newcomerFrame(userId: string, guildId: string) {
  const user = { id: userId, username: 'newcomer', discriminator: '0', avatar: null };
  return { guild_id: guildId, user, roles: [], joined_at: new Date().toISOString(), flags: 0 };
}
