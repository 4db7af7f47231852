import { createGuardedFetch } from '@trunkline/http';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';

export interface OAuthClient {
  clientId: string;
  clientSecret: string;
  tokenUrl: string;
}

const storedSchema = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_at: z.number(),
});
const grantSchema = z.object({
  access_token: z.string(),
  refresh_token: z.string().optional(),
  expires_in: z.number().default(3600),
});

type Stored = z.output<typeof storedSchema>;

/** A token that is about to expire counts as expired. */
const MARGIN_MS = 60_000;

/** The OAuth token in its file, renewed when it has expired. */
export class TokenStore {
  readonly #path: string;
  readonly #client: OAuthClient;
  readonly #now: () => number;
  #renewing: Promise<Stored> | undefined;

  constructor(path: string, client: OAuthClient, now: () => number = Date.now) {
    this.#path = path;
    this.#client = client;
    this.#now = now;
  }

  async accessToken(): Promise<string> {
    const stored = storedSchema.safeParse(await readJsonFile(this.#path));
    if (!stored.success) throw new Error('the cloud account is not connected: use cloud_connect first.');
    if (stored.data.expires_at - MARGIN_MS > this.#now()) return stored.data.access_token;
    this.#renewing ??= this.#renew(stored.data.refresh_token).finally(() => {
      this.#renewing = undefined;
    });
    return (await this.#renewing).access_token;
  }

  /** Takes the code that the consent page gave. */
  async redeem(code: string, verifier: string, redirectUri: string): Promise<void> {
    await this.#grant({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    });
  }

  async #renew(refreshToken: string): Promise<Stored> {
    return await this.#grant({ grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  async #grant(fields: Record<string, string>): Promise<Stored> {
    const { clientId, clientSecret, tokenUrl } = this.#client;
    const fetch = createGuardedFetch({ allowedHosts: [new URL(tokenUrl).hostname], maxRedirects: 0 });
    const response = await fetch(tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...fields }).toString(),
    });
    if (response.status !== 200)
      throw new Error(
        'the cloud refused the login: check CLOUD_CLIENT_ID and CLOUD_CLIENT_SECRET, then use cloud_connect again.',
      );
    const grant = grantSchema.parse(JSON.parse(response.text()));
    const refreshToken = grant.refresh_token ?? fields.refresh_token ?? '';
    const stored = {
      access_token: grant.access_token,
      refresh_token: refreshToken,
      expires_at: this.#now() + grant.expires_in * 1000,
    };
    await writeFileAtomic(this.#path, JSON.stringify(stored), { mode: 0o600 });
    return stored;
  }
}
