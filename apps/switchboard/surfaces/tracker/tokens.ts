import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { DeliveryError } from '../delivery/delivery.ts';
import { refreshGrant } from '../refresh-token.ts';

export interface TokenSettings {
  clientId: string;
  clientSecret: string;
  refreshToken: string;
  url: string;
  home: string;
  /** Told once when the refresh token is refused, until one works again. */
  onRefreshFailed(words: string): void;
  logger: Logger;
}

const keptSchema = z.object({ first: z.string(), refreshToken: z.string() });

const marginMs = 60_000;

/** Access tokens of an OAuth client; each refresh token works once, so the newest is kept on disk. */
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

  /** What was kept counts as long as the variable holds the token that it began with. */
  async #kept(): Promise<string> {
    const { refreshToken, logger } = this.#settings;
    const file = await readJsonFile(this.#path).catch((error: unknown) =>
      logger.error(
        { err: error },
        'the kept token of the tracker cannot be read; TRACKER_REFRESH_TOKEN is tried',
      ),
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
