import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type Account, type Accounts, principalOf } from '@trunkline/accounts';
import {
  type App,
  type AppEnv,
  describeRoute,
  HttpError,
  plainPage,
  type SignInContext,
  type SignInProvider,
  setSessionCookie,
} from '@trunkline/http';
import type { Role } from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import type { Context } from 'hono';
import { z } from 'zod';
import { type OidcPerson, OidcProvider, oidcErrors, type Transaction } from './provider.ts';

/** The settings, as `oidcOptions` of packages/config reads them. */
export interface OidcOptions {
  oidcIssuer?: string | undefined;
  oidcClientId?: string | undefined;
  oidcClientSecret?: string | undefined;
  oidcName: string;
  oidcRole?: 'member' | 'guest' | undefined;
  oidcRoleClaim?: string | undefined;
  /** `group=role`. */
  oidcRoles: readonly string[];
}

const LOGIN_PATH = '/operator/oidc/login';
const CALLBACK_PATH = '/operator/oidc/callback';
const COOKIE = 'trunkline_oidc';
const LIFETIME_MS = 10 * 60_000;
const MAX_USED = 10_000;

/** The provider of the settings, as browsers sign in there; undefined where none is set. */
export function createSignIn(
  options: OidcOptions,
  accounts: Accounts,
  now: () => number = Date.now,
): SignInProvider | undefined {
  const provider = createProvider(options, now);
  return (
    provider && {
      name: provider.name,
      loginPath: LOGIN_PATH,
      signOutUrl: (back) => provider.signOutUrl(back),
      mount: (app, context) => mountSignIn(app, provider, options, { ...context, accounts, now }),
    }
  );
}

export function createProvider(options: OidcOptions, now?: () => number): OidcProvider | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = options;
  if (issuer === undefined || clientId === undefined) return undefined;
  const { oidcName: name, oidcRoleClaim: roleClaim } = options;
  return new OidcProvider({ issuer, clientId, clientSecret, name, roleClaim, ...(now && { now }) });
}

interface SignInDeps extends SignInContext {
  accounts: Accounts;
  now: () => number;
}

/** `GET /operator/oidc/login` leads to the provider, the callback leads back. */
function mountSignIn(
  app: App,
  provider: OidcProvider,
  options: OidcOptions,
  { accounts, homePath, logger, publicUrl, now }: SignInDeps,
): void {
  const seal = createSeal();
  const used = new BoundedMap<string, true>(MAX_USED);

  app.get(
    LOGIN_PATH,
    describeRoute({
      summary: 'Sign in at the OpenID Connect provider',
      query: z.object({ return: z.string().optional().describe('Path to go back to; the start page.') }),
      mediaType: 'text/html',
      status: 303,
    }),
    (context) =>
      answer(context, async () => {
        const origin = new URL(publicUrl ?? `http://${context.req.header('host')}`).origin;
        const returnTo = localPath(context.req.query('return') ?? homePath, origin) ?? homePath;
        const { url, transaction } = await provider.begin(`${origin}${CALLBACK_PATH}`);
        const pending: Pending = { ...transaction, returnTo, expiresAt: now() + LIFETIME_MS };
        setPending(context, seal.close(JSON.stringify(pending)), LIFETIME_MS / 1000);
        return context.redirect(url, 303);
      }),
  );

  app.get(
    CALLBACK_PATH,
    describeRoute({
      summary: 'Where the provider sends the browser back to',
      query: z.object({
        state: z.string(),
        code: z.string().optional(),
        error: z.string().optional(),
        error_description: z.string().optional(),
      }),
      mediaType: 'text/html',
      status: 303,
    }),
    (context) =>
      answer(context, async () => {
        const pending = openPending(context, seal);
        setPending(context, '', 0);
        const { search, searchParams } = new URL(context.req.url);
        if (pending === undefined || pending.expiresAt <= now() || used.has(pending.state))
          throw oidcErrors.oidc_expired();
        if (searchParams.get('state') !== pending.state) throw oidcErrors.oidc_expired();
        used.set(pending.state, true);
        const person = await provider.finish(search, pending);
        const account = accountOf(person, provider.name, options, accounts);
        context.set('principal', principalOf(account));
        setSessionCookie(context, accounts.createSession(account.id));
        logger.info({ account: account.id }, 'signed in by OpenID Connect');
        return context.redirect(pending.returnTo, 303);
      }),
  );

  /** A person looks at the answer, so failures are a page. */
  async function answer(context: Context<AppEnv>, work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      logger.warn({ code: error.code, reason: error.message }, 'OpenID Connect sign-in failed');
      return failurePage(context, error, { homePath, retryPath: LOGIN_PATH, name: provider.name });
    }
  }
}

/** Throws for somebody who has no account and gets none, and for a disabled one. */
function accountOf(
  person: OidcPerson,
  providerName: string,
  options: OidcOptions,
  accounts: Accounts,
): Account {
  const { identity, name, email, groups } = person;
  // With a claim for roles the provider decides, each time: who leaves a group loses what it gave.
  const role = mappedRole(groups, options.oidcRoles) ?? options.oidcRole;
  const own = accounts.byIdentity(identity);
  const mail = email === undefined ? undefined : accounts.byIdentity(`mail:${email}`);
  // An address can pass to somebody else: it counts only until a subject of this issuer has come with it.
  const issuer = identity.slice(0, identity.indexOf('#') + 1);
  const isTaken = mail?.identities.some((each) => each.startsWith(issuer)) ?? false;
  const known = own ?? (isTaken ? undefined : mail);
  if (known === undefined && role !== undefined)
    return accounts.create({ name, role, identities: [identity] });
  const isRevoked = options.oidcRoleClaim !== undefined && role === undefined && known?.role !== 'owner';
  if (known === undefined || isRevoked)
    throw oidcErrors.oidc_unknown_person({
      name: providerName,
      identity,
      mail: isTaken ? '' : mailWords(person),
    });
  principalOf(known);
  if (own === undefined) accounts.link(known.id, identity);
  if (
    options.oidcRoleClaim === undefined ||
    role === undefined ||
    role === known.role ||
    known.role === 'owner'
  )
    return known;
  return accounts.update(known.id, { role });
}

function mailWords({ email, hasUnverifiedEmail }: OidcPerson): string {
  if (email !== undefined) return ` or mail:${email}`;
  return hasUnverifiedEmail ? ' (your e-mail address does not count: it is not verified there)' : '';
}

const RANKS: readonly Role[] = ['operator', 'member', 'guest'];

/** The highest role that one of the groups gives. */
function mappedRole(groups: readonly string[], mapping: readonly string[]): Role | undefined {
  const roles = mapping.filter((entry) => groups.includes(entry.slice(0, entry.lastIndexOf('='))));
  return RANKS.find((role) => roles.some((entry) => entry.endsWith(`=${role}`)));
}

interface Pending extends Transaction {
  returnTo: string;
  expiresAt: number;
}

/** A page of this service; anything else would send people who sign in elsewhere. */
function localPath(path: string, origin: string): string | undefined {
  const url = path.startsWith('/') ? URL.parse(path, origin) : null;
  // Browsers read a path that begins with two slashes, as "/.//" becomes, as the name of a host.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return undefined;
  return `${url.pathname}${url.search}${url.hash}`;
}

/** The provider's page leads back here, so the cookie cannot be SameSite=Strict. */
function setPending(context: Context, value: string, seconds: number): void {
  const parts = [
    `${COOKIE}=${value}`,
    `Max-Age=${seconds}`,
    'Path=/operator/oidc',
    'HttpOnly',
    'SameSite=Lax',
  ];
  context.header('set-cookie', parts.join('; '), { append: true });
  context.header('cache-control', 'no-store');
}

function openPending(context: Context, seal: Seal): Pending | undefined {
  const cookies = (context.req.header('cookie') ?? '').split(';').map((cookie) => cookie.trim());
  for (const cookie of cookies) {
    const text = cookie.startsWith(`${COOKIE}=`) ? seal.open(cookie.slice(COOKIE.length + 1)) : undefined;
    if (text !== undefined) return JSON.parse(text) as Pending;
  }
  return undefined;
}

type Seal = ReturnType<typeof createSeal>;

/** Encrypts and authenticates for as long as the process lives: nothing has to be stored for those who never come back. */
function createSeal() {
  const key = randomBytes(32);
  const [ivBytes, tagBytes] = [12, 16];
  return {
    close(text: string): string {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    /** Undefined for what this process did not seal. */
    open(sealed: string): string | undefined {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length <= ivBytes + tagBytes) return undefined;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        return (
          decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8')
        );
      } catch {
        return undefined;
      }
    },
  };
}

/** Says why nobody was signed in, and what to do. */
function failurePage(
  context: Context,
  { code, message, status }: HttpError,
  { name, homePath, retryPath }: { name: string; homePath: string; retryPath: string },
): Response {
  return plainPage(context, {
    title: 'Not signed in',
    heading: 'You are not signed in',
    paragraphs: [message],
    links: [
      { href: retryPath, text: `Sign in with ${name} again` },
      { href: homePath, text: 'Back to the page' },
    ],
    status,
    headers: { 'x-error-code': code },
  });
}
