import { join } from 'node:path';
import type { LinearClient } from '@linear/sdk';
import { type Message, unescapeSegment } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { createGuardedFetch } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { withoutPictures } from '@trunkline/tools';
import { z } from 'zod';
import { derivedId, uuidOf } from '../../core/messages.ts';
import type { PluginContext } from '../../core/plugins.ts';
import { withoutUndefined } from '../../dispatch/request.ts';
import { type AccessTokenSettings, AccessTokens, statusOf } from '../access-tokens.ts';
import { type DeliveryAttempt, DeliveryError, notTaken } from '../delivery/outbox.ts';

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

const storedSchema = z.object({ first: z.string(), refreshToken: z.string() });

export interface TrackerSettings {
  url: string;
  apiKey: string | undefined;
  tokens: AccessTokens | undefined;
}

const callMs = 20_000;

export class TrackerApi {
  readonly #settings: TrackerSettings;

  constructor(settings: TrackerSettings) {
    this.#settings = settings;
  }

  /** Calls with the value of the header Authorization, as the API and the storage of files take it. */
  async authorized<Result>(
    signal: AbortSignal,
    call: (authorization: string | undefined) => Promise<Result>,
  ): Promise<Result> {
    const { apiKey, tokens } = this.#settings;
    return tokens === undefined
      ? await call(apiKey)
      : await tokens.call(signal, (token) => call(`Bearer ${token}`));
  }

  /** Stores a file at the tracker and gives its address there. */
  async upload(
    { name, mediaType, bytes }: { name: string; mediaType: string; bytes: Uint8Array },
    signal: AbortSignal,
  ): Promise<string> {
    const { uploadFile } = await this.call(signal, (client) =>
      client.fileUpload(mediaType, name, bytes.length),
    );
    if (!uploadFile) throw new DeliveryError('The tracker gave no place for the file.', { permanent: true });
    const { uploadUrl, assetUrl, headers } = uploadFile;
    const fetch = createGuardedFetch({ allowedHosts: [new URL(this.#settings.url).hostname] });
    const { status } = await fetch(uploadUrl, {
      method: 'PUT',
      headers: {
        'content-type': mediaType,
        'cache-control': 'public, max-age=31536000',
        ...Object.fromEntries(headers.map(({ key, value }) => [key.toLowerCase(), value])),
      },
      body: bytes,
      signal,
    });
    if (status < 300) return assetUrl;
    const isPermanent = status >= 400 && status < 500 && status !== 429;
    throw new DeliveryError(`its storage answers with ${status}`, { permanent: isPermanent });
  }

  async call<Result>(signal: AbortSignal, work: (client: LinearClient) => Promise<Result>): Promise<Result> {
    const { url, apiKey, tokens } = this.#settings;
    const { LinearClient } = await import('@linear/sdk');
    const shared = {
      apiUrl: `${url.replace(/\/+$/, '')}/graphql`,
      signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
    };
    try {
      if (tokens !== undefined)
        return await tokens.call(signal, (accessToken) => work(new LinearClient({ ...shared, accessToken })));
      if (apiKey !== undefined) return await work(new LinearClient({ ...shared, apiKey }));
    } catch (error) {
      throw trackerFailure(error);
    }
    throw new DeliveryError('Set TRACKER_API_KEY: without it nothing can be written to the tracker.', {
      permanent: true,
    });
  }
}

/**
 * Creates something under an id that derives from the message. Where the tracker knows the id, an earlier attempt has
 * arrived whose answer was lost.
 */
async function createOnce(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  create: (client: LinearClient, id: string) => Promise<unknown>,
): Promise<void> {
  const id = uuidOf(derivedId(message.id, 'tracker'), '4', '8');
  try {
    await api.call(signal, (client) => create(client, id));
  } catch (error) {
    if (!isKnown(error, id)) throw error;
  }
  arrived(id);
}

/** Linear names the id: "conflict on insert of Comment - Entity Comment with id … already exists." */
function isKnown(error: unknown, id: string): boolean {
  return errorMessage(error).includes(`with id ${id} already exists`);
}

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

export interface TokenSettings
  extends Pick<AccessTokenSettings, 'clientId' | 'clientSecret' | 'onRefreshFailed'> {
  /** The first one; each refresh token works once, so the newest is stored on disk. */
  refreshToken: string;
  url: string;
  home: string;
  logger: Logger;
}

export function createTrackerTokens({ refreshToken: first, url, home, logger, ...client }: TokenSettings) {
  const path = join(home, 'tracker-token.json');
  let newest: string | undefined;
  return new AccessTokens({
    ...client,
    product: 'tracker',
    variable: 'TRACKER_REFRESH_TOKEN',
    tokenUrl: `${url.replace(/\/+$/, '')}/oauth/token`,
    refreshToken: async () => newest ?? (await storedToken(path, first, logger)),
    async onRotated(refreshToken) {
      newest = refreshToken;
      try {
        await writeFileAtomic(path, JSON.stringify({ first, refreshToken }), { mode: 0o600 });
      } catch (error) {
        // It still serves this run: there is no other any more.
        logger.error(
          { err: error, path },
          'failed to store the newest token; make room before the next start',
        );
      }
    },
  });
}

/** The stored token counts as long as the variable holds the token that it started from. */
async function storedToken(path: string, first: string, logger: Logger): Promise<string> {
  const file = await readJsonFile(path).catch((error: unknown) =>
    logger.error({ err: error }, 'failed to read stored token of the tracker; using TRACKER_REFRESH_TOKEN'),
  );
  const stored = storedSchema.safeParse(file);
  return stored.success && stored.data.first === first ? stored.data.refreshToken : first;
}

/** Handles the topics `tracker.*`. */
export function createTrackerActions(api: TrackerApi, files: Files) {
  return async (attempt: DeliveryAttempt): Promise<void> => {
    const [, action, kind = '', id = ''] = attempt.message.topic.split('.');
    if (action === 'create' && kind === 'issue') return await createIssue(attempt, api);
    if (action === 'update' && kind === 'issue') return await updateIssue(attempt, api, unescapeSegment(id));
    if (action === 'reply' && kind !== '') return await reply(attempt, { api, files }, unescapeSegment(kind));
    if (action === 'agent_activity' && kind !== '')
      return await tell(attempt, { api, files }, unescapeSegment(kind));
    const words = `${attempt.message.topic} is nothing that the tracker does: use tracker.create.issue, tracker.update.issue.<id>, tracker.reply.<issue> or tracker.agent_activity.<session>.`;
    throw new DeliveryError(words, { permanent: true });
  };
}

async function createIssue(attempt: DeliveryAttempt, api: TrackerApi): Promise<void> {
  const fields = read(newIssue, attempt.message.payload);
  const { title, teamId } = fields;
  await createOnce(attempt, api, (client, id) =>
    client.createIssue({ ...withoutUndefined(fields), title, teamId, id }),
  );
}

async function updateIssue(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  id: string,
): Promise<void> {
  if (id === '') throw new DeliveryError('Name the issue: tracker.update.issue.<id>.', { permanent: true });
  const fields = read(change, message.payload);
  await api.call(signal, (client) => client.updateIssue(id, withoutUndefined(fields)));
  arrived(id);
}

async function reply(attempt: DeliveryAttempt, { api, files }: Deps, issueId: string): Promise<void> {
  const { message, signal } = attempt;
  const attached = await attachedTo(message, { api, files }, signal);
  const body = bodyOf(message, read(contentWith(attached), message.payload).content, attached);
  await createOnce(attempt, api, (client, id) => client.createComment({ issueId, body, id }));
}

async function tell(attempt: DeliveryAttempt, { api, files }: Deps, session: string): Promise<void> {
  const { message, signal } = attempt;
  const attached = await attachedTo(message, { api, files }, signal);
  const { content: given, type, error } = read(activity.extend(contentWith(attached).shape), message.payload);
  const body = bodyOf(message, given, attached);
  await createOnce(attempt, api, (client, id) =>
    client.createAgentActivity({
      agentSessionId: session,
      content: { type: error === undefined ? type : 'error', body },
      id,
    }),
  );
}

/** After text from outside without pictures: whoever opens the issue would fetch them. */
function bodyOf({ principal }: Message, content: string, attached: readonly string[]): string {
  const words = principal?.origins ? withoutPictures(content) : content;
  return [words, ...attached].filter((each) => each !== '').join('\n\n');
}

type Files = Pick<PluginContext['files'], 'open'>;

interface Deps {
  api: TrackerApi;
  files: Files;
}

/** A message may be files alone. */
function contentWith(attached: readonly string[]) {
  return attached.length === 0 ? content : z.object({ content: z.string().default('') });
}

/** The files of a message as Markdown, each on lines of its own, as the tracker wants pictures. */
async function attachedTo(message: Message, { api, files }: Deps, signal: AbortSignal): Promise<string[]> {
  const opened = await files.open(message.payload, message.principal);
  const shown: string[] = opened.lost.map((words) => `(${words})`);
  for (const file of opened.files)
    try {
      const address = await api.upload(file, signal);
      const label = file.name.replace(/[[\]\\]/g, '');
      shown.push(`${file.mediaType.startsWith('image/') ? '!' : ''}[${label}](${address})`);
    } catch (error) {
      shown.push(notTaken('The tracker', [file], error));
    }
  return shown;
}

function read<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new DeliveryError(`The message cannot be carried out: ${z.prettifyError(parsed.error)}`, {
    permanent: true,
  });
}
