import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TokenStore } from './token-store.ts';

export interface ConsentOptions {
  authUrl: string;
  clientId: string;
  scopes: readonly string[];
  tokens: Pick<TokenStore, 'redeem'>;
  logger: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

const OPEN_MS = 5 * 60_000;

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
