import type { Bus } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage, limitBody, untilAborted } from '@trunkline/std';
import { z } from 'zod';
import { announce } from '../workspace/problems.ts';
import { DeliveryError } from './delivery/outbox.ts';

export interface AccessTokenSettings {
  /** What the product is called in messages for people. */
  product: string;
  /** The variable to check when no token can be had. */
  variable: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  refreshToken(): string | Promise<string>;
  /** Called with the next refresh token, where each works once. */
  onRotated?(refreshToken: string): Promise<void>;
  /** Called once when the refresh token is refused, until one works again. */
  onRefreshFailed(words: string): void;
}

const grantSchema = z.object({
  access_token: z.string(),
  expires_in: z.number(),
  refresh_token: z.string().optional(),
});
const refusalSchema = z.object({ error: z.string().optional(), error_description: z.string().optional() });

const refreshMs = 20_000;
const largestBytes = 2 ** 20;
/** A token is renewed this long before its end. */
const marginMs = 60_000;

/** Access tokens of an OAuth client. */
export class AccessTokens {
  readonly #settings: AccessTokenSettings;
  #token: { value: string; until: number } | undefined;
  #renewing: Promise<string> | undefined;
  #refused = false;

  constructor(settings: AccessTokenSettings) {
    this.#settings = settings;
  }

  /** Calls with a valid token; one that was revoked meanwhile is renewed once. */
  async call<Result>(signal: AbortSignal, work: (token: string) => Promise<Result>): Promise<Result> {
    try {
      return await work(await untilAborted(this.#get(), signal));
    } catch (error) {
      if (statusOf(error) !== 401) throw error;
    }
    this.#token = undefined;
    return await work(await untilAborted(this.#get(), signal));
  }

  #get(): Promise<string> {
    if (this.#token !== undefined && this.#token.until > Date.now())
      return Promise.resolve(this.#token.value);
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<string> {
    const { product, variable, onRotated, onRefreshFailed } = this.#settings;
    try {
      const { access_token: value, expires_in, refresh_token } = await this.#refresh();
      if (refresh_token !== undefined) await onRotated?.(refresh_token);
      this.#token = { value, until: Date.now() + expires_in * 1000 - marginMs };
      this.#refused = false;
      return value;
    } catch (error) {
      const words = `The ${product} gave no token: ${errorMessage(error)}; check ${variable}.`;
      if (!this.#refused) onRefreshFailed(words);
      this.#refused = true;
      throw new DeliveryError(words, { cause: error });
    }
  }

  async #refresh(): Promise<z.output<typeof grantSchema>> {
    const { tokenUrl, clientId, clientSecret, refreshToken } = this.#settings;
    const response = await fetch(tokenUrl, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: await refreshToken(),
        client_id: clientId,
        client_secret: clientSecret,
      }),
      // The secret is for this address alone.
      redirect: 'manual',
      signal: AbortSignal.timeout(refreshMs),
    });
    // A refusal need not be JSON; then its status has to do.
    const limited = limitBody(response, { maxBytes: largestBytes });
    const answer: unknown = await limited.json().catch(() => undefined);
    if (response.ok) return grantSchema.parse(answer);
    const { error, error_description: words } = refusalSchema.safeParse(answer).data ?? {};
    throw new Error(words ?? error ?? `it answered ${response.status}`);
  }
}

/** The HTTP status that a client library puts on its errors. */
export function statusOf(error: unknown): number | undefined {
  const { status, response } = error as { status?: number; response?: { status?: number } };
  return response?.status ?? status;
}

/** Says in the log and on the bus that a surface has no token. */
export function reportRefreshFailure(surface: string, error: string, bus: Bus, logger: Logger): void {
  logger.error({ error }, 'failed to refresh token');
  void announce(bus, logger, { topic: 'auth.token_refresh_failed', payload: { surface, error } });
}
