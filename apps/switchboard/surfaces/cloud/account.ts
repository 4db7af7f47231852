import type { calendar_v3 } from '@googleapis/calendar';
import type { docs_v1 } from '@googleapis/docs';
import type { drive_v3 } from '@googleapis/drive';
import type { gmail_v1 } from '@googleapis/gmail';
import { errorMessage, untilAborted } from '@trunkline/std';
import { z } from 'zod';
import { DeliveryError } from '../delivery/outbox.ts';
import { refreshGrant } from '../refresh-token.ts';

export interface AccountSettings {
  clientId: string;
  clientSecret: string;
  refreshToken: string;
  tokenUrl: string;
  /** Undefined for Google's own. */
  apiUrl: string | undefined;
  /** Told once when the refresh token is refused, until one works again. */
  onRefreshFailed(words: string): void;
}

/** What every call carries: who calls, and how long it may take. */
export interface CallOptions {
  headers: { authorization: string };
  signal: AbortSignal;
  timeout: number;
  retry: false;
  /** Uploads look for it here. */
  rootUrl?: string;
}

const callMs = 20_000;
/** A token is renewed this long before its end. */
const marginMs = 60_000;

/** One account of the cloud suite; its libraries are loaded when they are first needed. */
export class CloudAccount {
  readonly #settings: AccountSettings;
  #token: { value: string; until: number } | undefined;
  #renewing: Promise<string> | undefined;
  #refused = false;

  constructor(settings: AccountSettings) {
    this.#settings = settings;
  }

  async drive(): Promise<drive_v3.Drive> {
    const { drive } = await import('@googleapis/drive');
    return drive({ version: 'v3', ...this.#place() });
  }

  async docs(): Promise<docs_v1.Docs> {
    const { docs } = await import('@googleapis/docs');
    return docs({ version: 'v1', ...this.#place() });
  }

  async calendar(): Promise<calendar_v3.Calendar> {
    const { calendar } = await import('@googleapis/calendar');
    return calendar({ version: 'v3', ...this.#place() });
  }

  async mail(): Promise<gmail_v1.Gmail> {
    const { gmail } = await import('@googleapis/gmail');
    return gmail({ version: 'v1', ...this.#place() });
  }

  /** Calls with a valid token; one that was revoked meanwhile is renewed once. */
  async call<Result>(signal: AbortSignal, work: (options: CallOptions) => Promise<Result>): Promise<Result> {
    try {
      return await work(this.#options(await untilAborted(this.#accessToken(), signal), signal));
    } catch (error) {
      if (statusOf(error) !== 401) throw cloudFailure(error);
    }
    this.#token = undefined;
    try {
      return await work(this.#options(await untilAborted(this.#accessToken(), signal), signal));
    } catch (error) {
      throw cloudFailure(error);
    }
  }

  #place() {
    const { apiUrl } = this.#settings;
    return apiUrl === undefined ? {} : { rootUrl: `${apiUrl.replace(/\/+$/, '')}/` };
  }

  #options(token: string, signal: AbortSignal): CallOptions {
    return {
      headers: { authorization: `Bearer ${token}` },
      signal,
      timeout: callMs,
      retry: false,
      ...this.#place(),
    };
  }

  #accessToken(): Promise<string> {
    if (this.#token !== undefined && this.#token.until > Date.now())
      return Promise.resolve(this.#token.value);
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<string> {
    try {
      const { access_token: value, expires_in } = await refreshGrant(this.#settings);
      this.#token = { value, until: Date.now() + expires_in * 1000 - marginMs };
      this.#refused = false;
      return value;
    } catch (error) {
      const why = errorMessage(error);
      const words = `The cloud suite gave no token: ${why}; check CLOUD_REFRESH_TOKEN.`;
      if (!this.#refused) this.#settings.onRefreshFailed(words);
      this.#refused = true;
      throw new DeliveryError(words, { cause: error });
    }
  }
}

function statusOf(error: unknown): number | undefined {
  const { status, response } = error as { status?: number; response?: { status?: number } };
  return response?.status ?? status;
}

/** A refusal of the cloud suite as the outbox understands it. */
function cloudFailure(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const status = statusOf(error);
  const { message, response } = error as { message?: string; response?: { headers?: Headers } };
  const seconds = Number(response?.headers?.get?.('retry-after') ?? Number.NaN);
  const mayPass = status === 429 || status === 408 || isLimit(error);
  const permanent = status !== undefined && status >= 400 && status < 500 && !mayPass;
  return new CloudError(`The cloud suite answered: ${message ?? String(error)}`, status, {
    permanent,
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
    cause: error,
  });
}

const limitSchema = z.object({
  response: z.object({
    data: z.object({ error: z.object({ errors: z.array(z.object({ reason: z.string() })) }) }),
  }),
});

/** Its older APIs tell that too much was asked by a 403; a limit of the day passes as well, but not while we try. */
function isLimit(error: unknown): boolean {
  const { response } = limitSchema.safeParse(error).data ?? {};
  return response?.data.error.errors.some(({ reason }) => /rateLimitExceeded/i.test(reason)) ?? false;
}

/** A refusal with the status that came with it. */
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
