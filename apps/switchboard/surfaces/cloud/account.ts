import type { calendar_v3 } from '@googleapis/calendar';
import type { docs_v1 } from '@googleapis/docs';
import type { drive_v3 } from '@googleapis/drive';
import type { gmail_v1 } from '@googleapis/gmail';
import { z } from 'zod';
import { type AccessTokenSettings, AccessTokens, statusOf } from '../access-tokens.ts';
import { DeliveryError, retryAfterMs } from '../delivery/outbox.ts';

export interface AccountSettings extends Omit<AccessTokenSettings, 'product' | 'variable' | 'refreshToken'> {
  refreshToken: string;
  /** Undefined for Google's own. */
  apiUrl: string | undefined;
}

export interface CallOptions {
  headers: { authorization: string };
  signal: AbortSignal;
  timeout: number;
  maxContentLength: number;
  retry: false;
  /** Uploads read it here. */
  rootUrl?: string;
}

const callMs = 20_000;
/** Of one answer: Gmail takes in mails of 50 MB, and gives out attachments in base64. */
const largestBytes = 96 * 2 ** 20;

/** An account of the cloud suite; its libraries are loaded on first use. */
export class CloudAccount {
  readonly #place: { rootUrl?: string };
  readonly #tokens: AccessTokens;

  constructor({ apiUrl, refreshToken, ...settings }: AccountSettings) {
    this.#place = apiUrl === undefined ? {} : { rootUrl: `${apiUrl.replace(/\/+$/, '')}/` };
    this.#tokens = new AccessTokens({
      ...settings,
      product: 'cloud suite',
      variable: 'CLOUD_REFRESH_TOKEN',
      refreshToken: () => refreshToken,
    });
  }

  async drive(): Promise<drive_v3.Drive> {
    const { drive } = await import('@googleapis/drive');
    return drive({ version: 'v3', ...this.#place });
  }

  async docs(): Promise<docs_v1.Docs> {
    const { docs } = await import('@googleapis/docs');
    return docs({ version: 'v1', ...this.#place });
  }

  async calendar(): Promise<calendar_v3.Calendar> {
    const { calendar } = await import('@googleapis/calendar');
    return calendar({ version: 'v3', ...this.#place });
  }

  async mail(): Promise<gmail_v1.Gmail> {
    const { gmail } = await import('@googleapis/gmail');
    return gmail({ version: 'v1', ...this.#place });
  }

  async call<Result>(signal: AbortSignal, work: (options: CallOptions) => Promise<Result>): Promise<Result> {
    const limits = { timeout: callMs, maxContentLength: largestBytes };
    const shared = { signal, ...limits, retry: false as const, ...this.#place };
    try {
      return await this.#tokens.call(signal, (token) =>
        work({ headers: { authorization: `Bearer ${token}` }, ...shared }),
      );
    } catch (error) {
      throw cloudFailure(error);
    }
  }
}

function cloudFailure(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const status = statusOf(error);
  const { message, response } = error as { message?: string; response?: { headers?: Headers } };
  const mayPass = status === 429 || status === 408 || isLimit(error);
  const permanent = status !== undefined && status >= 400 && status < 500 && !mayPass;
  return new CloudError(`The cloud suite answered: ${message ?? String(error)}`, status, {
    permanent,
    retryAfterMs: retryAfterMs(response?.headers?.get?.('retry-after')),
    cause: error,
  });
}

const limitSchema = z.object({
  response: z.object({
    data: z.object({ error: z.object({ errors: z.array(z.object({ reason: z.string() })) }) }),
  }),
});

/** Older APIs report rate limits as 403. A daily limit passes too, but not while we retry. */
function isLimit(error: unknown): boolean {
  const { response } = limitSchema.safeParse(error).data ?? {};
  return response?.data.error.errors.some(({ reason }) => /rateLimitExceeded/i.test(reason)) ?? false;
}

export class CloudError extends DeliveryError {
  readonly status: number | undefined;

  constructor(
    words: string,
    status: number | undefined,
    options: ConstructorParameters<typeof DeliveryError>[1],
  ) {
    super(words, options);
    this.status = status;
  }
}
