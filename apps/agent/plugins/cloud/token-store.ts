import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedFetch } from '@trunkline/http';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';

const OPEN_MS = 5 * 60_000;

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
  #asking: Promise<Stored> | undefined;

  constructor(path: string, client: OAuthClient, now: () => number = Date.now) {
    this.#path = path;
    this.#client = client;
    this.#now = now;
  }

  /** One read and one renewal for all that ask at once: nobody renews by what the file held before. */
  async accessToken(): Promise<string> {
    this.#asking ??= this.#valid().finally(() => {
      this.#asking = undefined;
    });
    return (await this.#asking).access_token;
  }

  async #valid(): Promise<Stored> {
    const stored = storedSchema.safeParse(await readJsonFile(this.#path));
    if (!stored.success) throw new Error('the cloud account is not connected: use cloud_connect first.');
    const { data } = stored;
    return data.expires_at - MARGIN_MS > this.#now() ? data : await this.#renew(data.refresh_token);
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

interface ConsentOptions {
  authUrl: string;
  clientId: string;
  scopes: readonly string[];
  tokens: Pick<TokenStore, 'redeem'>;
  logger: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** Lets a person log in with a browser on this machine: gives the address to open and waits for the way back. */
export class Consent {
  readonly #options: ConsentOptions;
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConsentOptions) {
    this.#options = options;
  }

  async begin(): Promise<string> {
    this.close();
    const [state, verifier] = [randomBytes(16).toString('base64url'), randomBytes(32).toString('base64url')];
    const server = createServer((request, response) => {
      const asked = new URL(request.url ?? '/', 'http://127.0.0.1');
      const code = asked.searchParams.get('state') === state ? asked.searchParams.get('code') : null;
      response.writeHead(code === null ? 400 : 200, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(
        code === null ? 'This is not the answer that was waited for.' : 'Connected. You can close this page.',
      );
      if (code !== null) this.#redeem(code, verifier, redirectUri);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    this.#server = server;
    this.#timer = setTimeout(() => this.close(), OPEN_MS).unref();
    return this.#address(state, verifier, redirectUri);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#server?.close();
    this.#server = undefined;
  }

  #redeem(code: string, verifier: string, redirectUri: string): void {
    const { tokens, logger } = this.#options;
    this.close();
    tokens.redeem(code, verifier, redirectUri).then(
      () => logger.info({}, 'cloud account connected'),
      (error: unknown) => logger.warn({ err: error }, 'failed to connect the cloud account'),
    );
  }

  #address(state: string, verifier: string, redirectUri: string): string {
    const { authUrl, clientId, scopes } = this.#options;
    const address = new URL(authUrl);
    address.search = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: scopes.join(' '),
      access_type: 'offline',
      prompt: 'consent',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString();
    return address.href;
  }
}
