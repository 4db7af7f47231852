// Loaded with the first server that has an address: the SDK is among the largest libraries of a service.
import { randomBytes } from 'node:crypto';
import { auth, type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createGuardedFetch } from '@trunkline/http';
import { untilAborted } from '@trunkline/std';
import type { RegisteredClient } from './types.ts';

/** Where tokens are stored: the store of secrets. */
interface TokenStore {
  get(name: string): string | undefined;
  set(name: string, value: string): void;
  remove(name: string): unknown;
}

export interface OAuthOptions {
  store: TokenStore;
  /** The address of ours that a browser comes back to after the sign-in. */
  redirectUrl: () => string;
}

/** What a connection needs of the sign-in. */
export interface OAuthSession {
  isSignedIn: boolean;
  /** Tokens, to be kept out of error texts. */
  secrets: string[];
  provider: OAuthClientProvider;
  fetch: FetchLike;
}

/** A sign-in that waits for the browser. `state` is good for one use. */
export interface SignIn {
  state: string;
  url: string;
  verifier: string;
}

interface Stored {
  /** The address that the rest is for: tokens never go to another one. */
  url: string;
  redirectUrl: string;
  client?: OAuthClientInformationMixed;
  tokens?: OAuthTokens;
}

interface Server {
  name: string;
  url: string;
  oauth?: RegisteredClient | undefined;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const REQUEST_MS = 15_000;

/**
 * The sign-in at one server by OAuth 2.1: PKCE, and registration of ourselves where the server allows it. Tokens are
 * stored as one secret and renewed when they expire.
 */
export class McpOAuth {
  readonly #server: Server;
  readonly #options: OAuthOptions;
  readonly #fetch: FetchLike;

  constructor(server: Server, options: OAuthOptions) {
    this.#server = server;
    this.#options = options;
    this.#fetch = fetchFor(server.url);
  }

  get session(): OAuthSession {
    const { tokens } = this.#read();
    return {
      isSignedIn: tokens !== undefined,
      secrets: [tokens?.access_token, tokens?.refresh_token].filter((token) => token !== undefined),
      provider: this.#provider({ state: '' }),
      fetch: this.#fetch,
    };
  }

  /** Finds out where to sign in. Undefined if the stored tokens could be renewed, so that nobody has to. */
  async begin(signal: AbortSignal): Promise<SignIn | undefined> {
    const flow: Flow = { state: randomBytes(32).toString('base64url') };
    const provider = this.#provider(flow);
    const work = auth(provider, { serverUrl: this.#server.url, fetchFn: this.#fetch });
    const result = await untilAborted(work, signal);
    if (result === 'AUTHORIZED') return undefined;
    const { state, url, verifier = '' } = flow;
    if (url === undefined || !['https:', 'http:'].includes(url.protocol))
      throw new Error('The server names no web address to sign in at.');
    return { state, url: url.href, verifier };
  }

  /** Trades the code that the browser brought for tokens. */
  async finish(code: string, { state, verifier }: SignIn, signal: AbortSignal): Promise<void> {
    const provider = this.#provider({ state, verifier });
    const options = { serverUrl: this.#server.url, authorizationCode: code, fetchFn: this.#fetch };
    await untilAborted(auth(provider, options), signal);
  }

  forget(): void {
    this.#options.store.remove(secretOf(this.#server.name));
  }

  #provider(flow: Flow): OAuthClientProvider {
    const read = () => this.#read();
    const write = (change: Partial<Stored>) => this.#write(change);
    const { oauth } = this.#server;
    const redirectUrl = this.#options.redirectUrl();
    const clientMetadata: OAuthClientMetadata = {
      client_name: 'Trunkline',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: oauth?.clientSecret === undefined ? 'none' : 'client_secret_post',
      ...(oauth?.scope !== undefined && { scope: oauth.scope }),
    };
    return {
      redirectUrl,
      clientMetadata,
      state: () => flow.state,
      clientInformation: () => registered(oauth) ?? read().client,
      ...(oauth === undefined && { saveClientInformation: (client) => write({ client }) }),
      tokens: () => read().tokens,
      saveTokens: (tokens) => write({ tokens }),
      saveCodeVerifier: (verifier) => {
        flow.verifier = verifier;
      },
      codeVerifier: () => flow.verifier ?? '',
      redirectToAuthorization(url) {
        // A connection in the background has nobody to send there.
        if (flow.state === '') throw new UnauthorizedError('The sign-in has expired');
        flow.url = url;
      },
      invalidateCredentials(scope) {
        if (scope === 'all' || scope === 'tokens') write({ tokens: undefined } as unknown as Partial<Stored>);
        if (scope === 'all' || scope === 'client') write({ client: undefined } as unknown as Partial<Stored>);
      },
    };
  }

  #read(): Stored {
    const { url } = this.#server;
    const redirectUrl = this.#options.redirectUrl();
    const stored = parseStored(this.#options.store.get(secretOf(this.#server.name)));
    if (stored?.url !== url) return { url, redirectUrl };
    const { client, ...rest } = stored;
    // A registration holds for the address that it was made with.
    return stored.redirectUrl === redirectUrl && client !== undefined ? { ...rest, client } : rest;
  }

  #write(change: Partial<Stored>): void {
    const redirectUrl = this.#options.redirectUrl();
    const next = { ...this.#read(), redirectUrl, ...change };
    this.#options.store.set(secretOf(this.#server.name), JSON.stringify(next));
  }
}

interface Flow {
  /** Empty for a connection in the background. */
  state: string;
  verifier?: string;
  url?: URL;
}

function secretOf(server: string): string {
  return `mcp-oauth.${server}`.slice(0, 100);
}

function registered(oauth: RegisteredClient | undefined): OAuthClientInformationMixed | undefined {
  if (oauth === undefined) return undefined;
  const { clientId, clientSecret } = oauth;
  return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
}

function parseStored(text: string | undefined): Stored | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Stored;
  } catch {
    // Somebody replaced the secret by hand: a new sign-in writes it anew.
    return undefined;
  }
}

/** The server itself is the operator's choice; the sign-in server is named by it, so it gets the guarded fetch. */
function fetchFor(serverUrl: string): FetchLike {
  const { origin, hostname } = new URL(serverUrl);
  const guarded = createGuardedFetch({
    allowedHosts: [hostname],
    maxBytes: MAX_ANSWER_BYTES,
    maxRedirects: 0,
    timeoutMs: REQUEST_MS,
  });
  return async (input, init = {}) => {
    const url = new URL(input);
    if (url.origin === origin) return await fetch(input, init);
    const { status, headers, body } = await guarded(url, {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(init.body !== undefined && init.body !== null && { body: String(init.body) }),
      ...(init.signal && { signal: init.signal }),
    });
    return new Response(body.length === 0 ? null : (body as Uint8Array<ArrayBuffer>), { status, headers });
  };
}
