import { join } from 'node:path';
import type { LinearClient } from '@linear/sdk';
import { unescapeSegment } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage, untilAborted } from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { derivedId } from '../../core/messages.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/outbox.ts';
import { refreshGrant } from '../refresh-token.ts';

const content = z.object({ content: z.string().min(1) });

const newIssue = z.object({
  title: z.string().min(1),
  teamId: z.string().min(1),
  description: z.string().optional(),
  priority: z.int().min(0).max(4).optional(),
  assigneeId: z.string().optional(),
  projectId: z.string().optional(),
  stateId: z.string().optional(),
  labelIds: z.array(z.string()).optional(),
  parentId: z.string().optional(),
});

const change = newIssue
  .partial()
  .refine((fields) => Object.keys(fields).length > 0, 'nothing to change is given');

const activity = content.extend({
  type: z.enum(['thought', 'response', 'elicitation', 'error']).default('response'),
  error: z.string().optional(),
});

const keptSchema = z.object({ first: z.string(), refreshToken: z.string() });

const marginMs = 60_000;

export interface TrackerSettings {
  url: string;
  apiKey: string | undefined;
  tokens: TrackerTokens | undefined;
}

const callMs = 20_000;

/** The tracker's API, by key or by token. */
export class TrackerApi {
  readonly #settings: TrackerSettings;

  constructor(settings: TrackerSettings) {
    this.#settings = settings;
  }

  /** A token that was revoked meanwhile is renewed once. */
  async call<Result>(signal: AbortSignal, work: (client: LinearClient) => Promise<Result>): Promise<Result> {
    const { tokens } = this.#settings;
    try {
      return await work(await this.#client(signal));
    } catch (error) {
      if (tokens === undefined || statusOf(error) !== 401) throw trackerFailure(error);
    }
    tokens.drop();
    try {
      return await work(await this.#client(signal));
    } catch (error) {
      throw trackerFailure(error);
    }
  }

  async #client(signal: AbortSignal): Promise<LinearClient> {
    const { url, apiKey, tokens } = this.#settings;
    const { LinearClient } = await import('@linear/sdk');
    const shared = {
      apiUrl: `${url.replace(/\/+$/, '')}/graphql`,
      signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
    };
    if (tokens !== undefined)
      return new LinearClient({ ...shared, accessToken: await untilAborted(tokens.get(), signal) });
    if (apiKey !== undefined) return new LinearClient({ ...shared, apiKey });
    throw new DeliveryError('Set TRACKER_API_KEY: without it nothing can be written to the tracker.', {
      permanent: true,
    });
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { status?: number }).status;
}

/** A refusal of the tracker as the outbox understands it. */
function trackerFailure(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const { message, type, retryAfter } = error as { message?: string; type?: string; retryAfter?: number };
  const status = statusOf(error);
  const isLimit = type === 'Ratelimited' || status === 429;
  const isRefusal = status !== undefined && status >= 400 && status < 500;
  const isInput = type === 'InvalidInput' || type === 'UserError' || type === 'GraphqlError';
  return new DeliveryError(`The tracker answered: ${message ?? String(error)}`, {
    permanent: !isLimit && (isRefusal || isInput),
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000,
    cause: error,
  });
}

interface TokenSettings {
  clientId: string;
  clientSecret: string;
  refreshToken: string;
  url: string;
  home: string;
  /** Told once when the refresh token is refused, until one works again. */
  onRefreshFailed(words: string): void;
  logger: Logger;
}

/** Access tokens of an OAuth client; each refresh token works once, so the newest is stored on disk. */
export class TrackerTokens {
  readonly #settings: TokenSettings;
  readonly #path: string;
  #token: { value: string; until: number } | undefined;
  #renewing: Promise<string> | undefined;
  /** The newest refresh token of this run. */
  #newest: string | undefined;
  #refused = false;

  constructor(settings: TokenSettings) {
    this.#settings = settings;
    this.#path = join(settings.home, 'tracker-token.json');
  }

  get(): Promise<string> {
    if (this.#token !== undefined && this.#token.until > Date.now())
      return Promise.resolve(this.#token.value);
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** The token was refused: the next one is a new one. */
  drop(): void {
    this.#token = undefined;
  }

  async #renew(): Promise<string> {
    try {
      const {
        access_token: value,
        expires_in,
        refresh_token,
      } = await this.#exchange(this.#newest ?? (await this.#kept()));
      if (refresh_token !== undefined) await this.#keep(refresh_token);
      this.#token = { value, until: Date.now() + expires_in * 1000 - marginMs };
      this.#refused = false;
      return value;
    } catch (error) {
      const why = errorMessage(error);
      const words = `The tracker gave no token: ${why}; check TRACKER_REFRESH_TOKEN.`;
      if (!this.#refused) this.#settings.onRefreshFailed(words);
      this.#refused = true;
      throw new DeliveryError(words, { cause: error });
    }
  }

  async #exchange(refreshToken: string): ReturnType<typeof refreshGrant> {
    const { clientId, clientSecret, url } = this.#settings;
    const tokenUrl = `${url.replace(/\/+$/, '')}/oauth/token`;
    return refreshGrant({ tokenUrl, clientId, clientSecret, refreshToken });
  }

  /** The stored token counts as long as the variable holds the token that it started from. */
  async #kept(): Promise<string> {
    const { refreshToken, logger } = this.#settings;
    const file = await readJsonFile(this.#path).catch((error: unknown) =>
      logger.error({ err: error }, 'failed to read stored token of the tracker; using TRACKER_REFRESH_TOKEN'),
    );
    const kept = keptSchema.safeParse(file);
    return kept.success && kept.data.first === refreshToken ? kept.data.refreshToken : refreshToken;
  }

  /** One that cannot be written, as on a full disk, still serves this run: there is no other any more. */
  async #keep(refreshToken: string): Promise<void> {
    const { refreshToken: first, logger } = this.#settings;
    this.#newest = refreshToken;
    try {
      await writeFileAtomic(this.#path, JSON.stringify({ first, refreshToken }), { mode: 0o600 });
    } catch (error) {
      const words = 'the newest token of the tracker could not be kept: make room before the next start';
      logger.error({ err: error, path: this.#path }, words);
    }
  }
}

/** Does what the topics `tracker.*` ask for. */
export function createTrackerActions(api: TrackerApi) {
  return async (attempt: DeliveryAttempt): Promise<void> => {
    const [, action, kind = '', id = ''] = attempt.message.topic.split('.');
    if (action === 'create' && kind === 'issue') return await createIssue(attempt, api);
    if (action === 'update' && kind === 'issue') return await updateIssue(attempt, api, unescapeSegment(id));
    if (action === 'reply' && kind !== '') return await reply(attempt, api, unescapeSegment(kind));
    if (action === 'agent_activity' && kind !== '') return await tell(attempt, api, unescapeSegment(kind));
    const words = `${attempt.message.topic} is nothing that the tracker does: use tracker.create.issue, tracker.update.issue.<id>, tracker.reply.<issue> or tracker.agent_activity.<session>.`;
    throw new DeliveryError(words, { permanent: true });
  };
}

/** The id follows from the message, so that a repeated attempt cannot make a second one. */
async function createIssue({ message, signal, arrived }: DeliveryAttempt, api: TrackerApi): Promise<void> {
  const fields = read(newIssue, message.payload);
  const made = await api.call(signal, (client) =>
    client.createIssue({
      ...given(fields),
      title: fields.title,
      teamId: fields.teamId,
      id: uuidOf(message.id),
    }),
  );
  arrived(made.issueId ?? '');
}

async function updateIssue(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  id: string,
): Promise<void> {
  if (id === '') throw new DeliveryError('Name the issue: tracker.update.issue.<id>.', { permanent: true });
  const fields = read(change, message.payload);
  await api.call(signal, (client) => client.updateIssue(id, given(fields)));
  arrived(id);
}

async function reply(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  issueId: string,
): Promise<void> {
  const { content: body } = read(content, message.payload);
  const made = await api.call(signal, (client) =>
    client.createComment({ issueId, body, id: uuidOf(message.id) }),
  );
  arrived(made.commentId ?? '');
}

async function tell(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  session: string,
): Promise<void> {
  const { content: body, type, error } = read(activity, message.payload);
  const made = await api.call(signal, (client) =>
    client.createAgentActivity({
      agentSessionId: session,
      content: { type: error === undefined ? type : 'error', body },
      id: uuidOf(message.id),
    }),
  );
  arrived(made.agentActivityId ?? '');
}

/** Only what was given: the library takes no undefined fields. */
function given<Fields extends object>(fields: Fields): { [Key in keyof Fields]-?: NonNullable<Fields[Key]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

function uuidOf(id: string): string {
  const hex = derivedId(id, 'tracker');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}

function read<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new DeliveryError(`The message cannot be carried out: ${z.prettifyError(parsed.error)}`, {
    permanent: true,
  });
}
