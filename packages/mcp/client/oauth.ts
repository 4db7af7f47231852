// Loaded with the first server that has an address: the SDK is among the largest libraries of a service.
import { randomBytes } from 'node:crypto';
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  UnauthorizedError,
} from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createGuardedFetch } from '@trunkline/http';
import { KeyedQueue, untilAborted } from '@trunkline/std';
import { createServerFetch } from './http-fetch.ts';
import type { RegisteredClient } from './types.ts';

/** Where tokens are stored: the store of secrets. */
interface TokenStore {
  get(name: string): string | undefined;
  set(name: string, value: string): void;
  remove(name: string): unknown;
}

export interface OAuthOptions {
  store: TokenStore;
  /**
   * The address of ours that a browser comes back to after the sign-in. Left out in services where nobody signs in: they
   * use what was stored when the operator signed in elsewhere to the server of that name and address.
   */
  redirectUrl?: () => string;
}

/** What a connection needs of the sign-in. */
export interface OAuthSession {
  isSignedIn: boolean;
  /** Somebody can sign in at this service. */
  canBegin: boolean;
  /** Tokens, to be kept out of error texts. */
  secrets: string[];
  /** Sends with the stored token what goes to the server; what is refused for it, once more with a renewed one. */
  authorised(send: FetchLike): FetchLike;
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
  headers?: Readonly<Record<string, string>> | undefined;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const REQUEST_MS = 15_000;
const MOST_WAITING = 1000;

/** Renewals of a service, one at a time for a server: a refresh token may be good for one use. */
const renewals = new WeakMap<TokenStore, KeyedQueue>();

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
    this.#fetch = fetchFor(server);
  }

  get session(): OAuthSession {
    const { tokens } = this.#read();
    return {
      isSignedIn: tokens !== undefined,
      canBegin: this.#options.redirectUrl !== undefined,
      secrets: [tokens?.access_token, tokens?.refresh_token].filter((token) => token !== undefined),
      authorised: (send) => this.#authorised(send),
    };
  }

  #authorised(send: FetchLike): FetchLike {
    const { origin } = new URL(this.#server.url);
    return async (input, init = {}) => {
      const headers = new Headers(init.headers);
      const token = this.#read().tokens?.access_token;
      // A key under headers of the server goes before the token.
      const isOurs = !headers.has('authorization') && new URL(input).origin === origin;
      if (token === undefined || !isOurs) return await send(input, init);
      const sendWith = (valid: string) => {
        headers.set('authorization', `Bearer ${valid}`);
        return send(input, { ...init, headers });
      };
      const answer = await sendWith(token);
      const renewed = isRefused(answer) ? await this.#renew(token, answer, init.signal) : undefined;
      if (renewed === undefined) return answer;
      await answer.body?.cancel();
      return await sendWith(renewed);
    };
  }

  /** The token in place of one that was refused; undefined where somebody has to sign in. */
  #renew(
    refused: string,
    answer: Response,
    signal: AbortSignal | null | undefined,
  ): Promise<string | undefined> {
    const stored = () => this.#read().tokens?.access_token;
    const renew = async () => {
      // Another request or service has renewed it meanwhile, or the operator has signed out.
      if (stored() !== refused) return stored();
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
      const asked = { ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope && { scope }) };
      try {
        await auth(this.#provider({ state: '' }), {
          serverUrl: this.#server.url,
          fetchFn: this.#fetch,
          ...asked,
        });
      } catch (error) {
        if (error instanceof UnauthorizedError) return undefined;
        throw error;
      }
      return stored();
    };
    return this.#alone(renew, signal ?? undefined);
  }

  #alone<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    const { store } = this.#options;
    const queue = renewals.get(store) ?? new KeyedQueue({ maxWaiting: MOST_WAITING });
    renewals.set(store, queue);
    return queue.run(secretOf(this.#server.name), work, { signal });
  }

  /** Finds out where to sign in. Undefined if the stored tokens could be renewed, so that nobody has to. */
  async begin(signal: AbortSignal): Promise<SignIn | undefined> {
    const flow: Flow = { state: randomBytes(32).toString('base64url') };
    const provider = this.#provider(flow);
    const options = { serverUrl: this.#server.url, fetchFn: this.#fetch };
    const result = await untilAborted(
      this.#alone(() => auth(provider, options), signal),
      signal,
    );
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

  /** For one sign-in or renewal: `used` is the token that it was made with. */
  #provider(flow: Flow): OAuthClientProvider {
    const read = () => this.#read();
    const write = (change: Partial<Stored>) => this.#write(change);
    const { oauth } = this.#server;
    const mayRegister = oauth === undefined && this.#options.redirectUrl !== undefined;
    const { redirectUrl } = read();
    let used: string | undefined;
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
      ...(mayRegister && {
        saveClientInformation: (client: OAuthClientInformationMixed) => write({ client }),
      }),
      tokens: () => {
        const { tokens } = read();
        used = tokens?.refresh_token;
        return tokens;
      },
      saveTokens(tokens) {
        const client = registered(oauth);
        write({ tokens, ...(client && { client }) });
      },
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
        // Another service has renewed them meanwhile.
        if (scope === 'tokens' && read().tokens?.refresh_token !== used) return;
        if (scope === 'all' || scope === 'tokens') write({ tokens: undefined } as unknown as Partial<Stored>);
        if (scope === 'all' || scope === 'client') write({ client: undefined } as unknown as Partial<Stored>);
      },
    };
  }

  #read(): Stored {
    const { url } = this.#server;
    const stored = parseStored(this.#options.store.get(secretOf(this.#server.name)));
    const redirectUrl = this.#options.redirectUrl?.() ?? stored?.redirectUrl ?? '';
    if (stored?.url !== url) return { url, redirectUrl };
    const { client, ...rest } = stored;
    // A registration holds for the address that it was made with.
    const own = { ...rest, redirectUrl };
    return stored.redirectUrl === redirectUrl && client !== undefined ? { ...own, client } : own;
  }

  #write(change: Partial<Stored>): void {
    const next = { ...this.#read(), ...change };
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

/** The server does not take the token, or wants one that allows more. */
function isRefused(answer: Response): boolean {
  if (answer.status === 401) return true;
  return answer.status === 403 && extractWWWAuthenticateParams(answer).error === 'insufficient_scope';
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

/**
 * The server itself is the operator's choice and gets the headers that are set for it, as a proxy before it may want them; the
 * sign-in server is named by it, so it gets the guarded fetch, and none of them where it is elsewhere.
 */
function fetchFor({ url: serverUrl, headers: configured = {} }: Server): FetchLike {
  const { origin, hostname } = new URL(serverUrl);
  const send = createServerFetch(serverUrl);
  const guarded = createGuardedFetch({
    allowedHosts: [hostname],
    maxBytes: MAX_ANSWER_BYTES,
    maxRedirects: 0,
    timeoutMs: REQUEST_MS,
  });
  return async (input, init = {}) => {
    const url = new URL(input);
    if (url.origin === origin) {
      const headers = new Headers(init.headers);
      // A client may name itself to the token endpoint with one of its own.
      for (const [name, value] of Object.entries(configured))
        if (!headers.has(name)) headers.set(name, value);
      return await send(url, { ...init, headers, signal: AbortSignal.timeout(REQUEST_MS) });
    }
    const { status, headers, body } = await guarded(url, {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(init.body !== undefined && init.body !== null && { body: String(init.body) }),
      ...(init.signal && { signal: init.signal }),
    });
    return new Response(body.length === 0 ? null : (body as Uint8Array<ArrayBuffer>), { status, headers });
  };
}
