import type { LinearClient } from '@linear/sdk';
import { untilAborted } from '@trunkline/http';
import { DeliveryError } from '../delivery/delivery.ts';
import type { TrackerTokens } from './tokens.ts';

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

  /** A token that was taken back meanwhile is renewed once. */
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
