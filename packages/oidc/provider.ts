import { defineErrors } from '@trunkline/http';
import { errorMessage, limitBody } from '@trunkline/std';
import type * as OpenidClient from 'openid-client';

export interface ProviderOptions {
  issuer: string;
  clientId: string;
  /** Missing: a public client, which PKCE alone protects. */
  clientSecret?: string | undefined;
  /** As the button calls it. */
  name: string;
  /** The claim that holds roles or groups. */
  roleClaim?: string | undefined;
  now?: () => number;
}

/** What a sign-in has to remember until the provider sends the browser back. */
export interface Transaction {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/** Somebody whom the provider signed in. */
export interface OidcPerson {
  /** `oidc:<issuer>#<subject>`. */
  identity: string;
  name: string;
  /** Only one that the provider has verified. */
  email?: string;
  /** The provider named an address and did not say that it is verified. */
  hasUnverifiedEmail: boolean;
  /** Values of the claim for roles. */
  groups: string[];
}

type Library = typeof OpenidClient;
type Configuration = OpenidClient.Configuration;
type Claims = Readonly<Record<string, unknown>>;

const TIMEOUT_S = 10;
/** Of one answer of the provider: keys, tokens and claims of people with many groups are far smaller. */
const MAX_BYTES = 4 * 2 ** 20;
const DISCOVERY_MS = 3_600_000;
/** A provider that does not answer is not asked again by every click. */
const RETRY_MS = 5_000;
const MAX_GROUPS = 200;

/** An OpenID Connect provider. Its tokens are used while somebody signs in, and kept nowhere. */
export class OidcProvider {
  readonly name: string;
  readonly #options: ProviderOptions;
  #discovery: { at: number; configuration: Promise<Configuration>; failed?: boolean } | undefined;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.name = options.name;
  }

  /** Where the browser signs in, and what the answer is compared with. */
  async begin(redirectUri: string): Promise<{ url: string; transaction: Transaction }> {
    const [library, configuration] = await this.#open();
    const transaction = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
      redirectUri,
    };
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state: transaction.state,
      nonce: transaction.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(transaction.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, transaction };
  }

  /** Checks the answer (state, issuer, nonce, signature, times) and gives who it is about. */
  async finish(query: string, { state, nonce, verifier, redirectUri }: Transaction): Promise<OidcPerson> {
    const [library, configuration] = await this.#open();
    const answer = new URL(redirectUri);
    answer.search = query;
    try {
      const tokens = await library.authorizationCodeGrant(configuration, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims() as OpenidClient.IDToken;
      return this.#person(
        claims,
        await this.#moreClaims(library, configuration, tokens.access_token, claims),
      );
    } catch (error) {
      throw this.#explain(library, error);
    }
  }

  /** Where the browser signs out of the provider as well; undefined where it offers that not. */
  async signOutUrl(back: string): Promise<string | undefined> {
    const [library, configuration] = await this.#open();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return library.buildEndSessionUrl(configuration, { post_logout_redirect_uri: back }).href;
  }

  /** Throws, with words, where the provider does not answer as one. */
  async check(): Promise<void> {
    await this.#open();
  }

  async #open(): Promise<[Library, Configuration]> {
    const library = await import('openid-client');
    const now = (this.#options.now ?? Date.now)();
    const known = this.#discovery;
    if (known === undefined || now - known.at >= (known.failed ? RETRY_MS : DISCOVERY_MS)) {
      const started: NonNullable<typeof known> = { at: now, configuration: this.#discover(library) };
      started.configuration.catch(() => Object.assign(started, { failed: true }));
      this.#discovery = started;
    }
    return [library, await (this.#discovery as NonNullable<typeof known>).configuration];
  }

  async #discover(library: Library): Promise<Configuration> {
    const { issuer, clientId, clientSecret, name } = this.#options;
    const url = new URL(issuer);
    const execute = [
      library.enableNonRepudiationChecks,
      ...(url.protocol === 'http:' ? [library.allowInsecureRequests] : []),
    ];
    try {
      return await library.discovery(url, clientId, undefined, clientAuth(library, clientSecret), {
        timeout: TIMEOUT_S,
        execute,
        [library.customFetch]: limitedFetch,
      });
    } catch (error) {
      throw oidcErrors.oidc_unreachable({ name, issuer, reason: reasonOf(error) });
    }
  }

  /** Many providers give the address and groups only when asked for them. */
  async #moreClaims(library: Library, configuration: Configuration, token: string, claims: Claims) {
    const { roleClaim } = this.#options;
    const isComplete =
      claims.email !== undefined && (roleClaim === undefined || claims[roleClaim] !== undefined);
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return {};
    return library.fetchUserInfo(configuration, token, String(claims.sub));
  }

  #person(claims: Claims, more: Claims): OidcPerson {
    const { roleClaim } = this.#options;
    // The address and whether it is verified are believed only together.
    const { email, email_verified: isVerified } = claims.email === undefined ? more : claims;
    const all = { ...more, ...claims };
    const groups = roleClaim === undefined ? [] : [all[roleClaim]].flat();
    const names = [all.name, all.preferred_username, email, claims.sub];
    return {
      identity: `oidc:${claims.iss}#${claims.sub}`,
      name: names.map(plainName).find((name) => name !== '') ?? 'Somebody',
      ...(typeof email === 'string' && isVerified === true && { email }),
      hasUnverifiedEmail: typeof email === 'string' && isVerified !== true,
      groups: groups.filter((group) => typeof group === 'string').slice(0, MAX_GROUPS),
    };
  }

  /** Without the cause: it may hold tokens or claims, and errors are logged. */
  #explain(library: Library, error: unknown): unknown {
    const { name, issuer } = this.#options;
    if (error instanceof library.AuthorizationResponseError)
      return oidcErrors.oidc_denied({ name, reason: plainReason(error.error_description ?? error.error) });
    if (error instanceof library.ResponseBodyError) {
      const reason = plainReason(error.error_description ?? error.error);
      return error.error === 'invalid_grant'
        ? oidcErrors.oidc_invalid({ name, reason })
        : oidcErrors.oidc_client_refused({ name, reason });
    }
    if (error instanceof library.WWWAuthenticateChallengeError)
      return oidcErrors.oidc_client_refused({ name, reason: 'it does not take the credentials' });
    if (isNetworkError(error)) return oidcErrors.oidc_unreachable({ name, issuer, reason: reasonOf(error) });
    return oidcErrors.oidc_invalid({ name, reason: plainReason(reasonOf(error)) });
  }
}

/** As the provider offers it; by the standard, HTTP Basic where it does not say. */
function clientAuth(library: Library, secret: string | undefined): OpenidClient.ClientAuth {
  if (secret === undefined) return library.None();
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic')
      ? library.ClientSecretBasic(secret)
      : library.ClientSecretPost(secret);
    authenticate(server, ...rest);
  };
}

const limitedFetch: OpenidClient.CustomFetch = async (url, options) =>
  limitBody(await fetch(url, options as RequestInit), { maxBytes: MAX_BYTES });

/** fetch throws a TypeError with the cause in it; an answer whose rest does not come is the cause of one that cannot be read. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && error.code === 'OAUTH_TIMEOUT') return true;
  if (error.name === 'TimeoutError' || (error instanceof TypeError && error.cause instanceof Error))
    return true;
  return isNetworkError(error.cause);
}

/** What lies at the bottom says most: "connect ECONNREFUSED", not "fetch failed". */
function reasonOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? reasonOf(error.cause) : errorMessage(error);
}

/** Text that the provider chose, as one short line. */
function plainReason(text: string): string {
  return text.replace(/\p{C}+/gu, ' ').slice(0, 200);
}

function plainName(name: unknown): string {
  return typeof name === 'string'
    ? name
        .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
        .trim()
        .slice(0, 80)
        .trim()
    : '';
}

const keyStillWorks = 'Signing in with a key still works.';

/** Why nobody was signed in. They are shown on a page, to the person who tried. */
export const oidcErrors = defineErrors({
  oidc_unreachable: [
    502,
    (given: { name: string; issuer: string; reason: string }) =>
      `${given.name} cannot be reached at ${given.issuer}: ${given.reason}. Try again in a moment. ${keyStillWorks} If it stays like this, let the operator check OIDC_ISSUER with "npx trunkline doctor".`,
  ],
  oidc_client_refused: [
    502,
    (given: { name: string; reason: string }) =>
      `${given.name} does not accept this service: ${given.reason}. Let the operator check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, and that the address of the callback is registered there. ${keyStillWorks}`,
  ],
  oidc_denied: [
    401,
    (given: { name: string; reason: string }) =>
      `${given.name} did not sign you in: ${given.reason}. Try again. ${keyStillWorks}`,
  ],
  oidc_expired: [
    401,
    'This sign-in took too long, was used already, or began in another browser or on another page. Start again.',
  ],
  oidc_invalid: [
    401,
    (given: { name: string; reason: string }) =>
      `The answer of ${given.name} does not belong to this sign-in or cannot be trusted (${given.reason}), so nobody was signed in. Start again; if it stays like this, let the operator check OIDC_ISSUER and OIDC_CLIENT_ID.`,
  ],
  oidc_unknown_person: [
    403,
    (given: { name: string; identity: string; mail: string }) =>
      `${given.name} knows you, but you have no account here. Ask the operator to add you on the page "Trust", under People, with the identity ${given.identity}${given.mail}. Then sign in again.`,
  ],
});
