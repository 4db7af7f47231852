import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** How the operator of an installation proves who they are: by the key, a one-time link, or a session cookie. */
export interface OperatorAccess {
  /** TRUNKLINE_OPEN=1: nobody is asked for the key. */
  readonly isOpen: boolean;
  /** Where the key stands, for error messages and the command line; empty where there is none. */
  readonly keyFile: string;
  /** Secrets that no log may show. */
  readonly secrets: readonly string[];
  isKey(presented: string): boolean;
  /** The value of a session cookie. */
  createSession(): string;
  isSession(cookie: string): boolean;
  /** A code for a link that signs a browser in, once. */
  createCode(lifetimeMs?: number): string;
  /** Uses the code up. */
  redeem(code: string): boolean;
}

/** Sessions end after this time, in milliseconds. */
const SESSION_MS = 90 * 24 * 3_600_000;
const CODE_MS = 15 * 60_000;

export function operatorKeyFile(home: string): string {
  return join(home, 'operator-key');
}

/** The operator's key of a home; undefined where no service has created it yet. */
export function readOperatorKey(home: string): string | undefined {
  return readSecret(operatorKeyFile(home));
}

const LINK_MS = 3_600_000;

/** A link that signs one browser in as the operator, once, within an hour; undefined where nobody needs to sign in. */
export function operatorLink(access: OperatorAccess, url: string): string | undefined {
  if (access.isOpen) return undefined;
  const link = new URL('/operator/enter', url);
  // Whoever listens on all addresses is reached on this machine by loopback.
  if (link.hostname === '0.0.0.0' || link.hostname === '[::]') link.hostname = '127.0.0.1';
  link.searchParams.set('code', access.createCode(LINK_MS));
  return link.href;
}

/** Whether a code is used for the first time; uses it up until it ends. */
export type UseOnce = (code: string, expiresAt: number) => boolean;

/** Reads the operator's key from the home, or creates it on the first run. Without `useOnce`, used codes are forgotten with the process. */
export function operatorAccess(
  home: string,
  { now = Date.now, useOnce = rememberCodes(now) }: { now?: () => number; useOnce?: UseOnce } = {},
): OperatorAccess {
  const key = readOrCreateSecret(home, 'operator-key');
  const expected = Buffer.from(key);
  return {
    isOpen: false,
    keyFile: operatorKeyFile(home),
    secrets: [key],
    isKey(presented) {
      const given = Buffer.from(presented.trim());
      // All keys have one length, so that it tells nothing.
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
    createSession: () => sign(key, 'session', now() + SESSION_MS),
    isSession: (cookie) => expiryOf(key, 'session', cookie) > now(),
    createCode: (lifetimeMs = CODE_MS) => sign(key, 'code', now() + lifetimeMs),
    redeem(code) {
      const expiresAt = expiryOf(key, 'code', code);
      return expiresAt > now() && useOnce(code, expiresAt);
    },
  };
}

function rememberCodes(now: () => number): UseOnce {
  const used = new Map<string, number>();
  return (code, expiresAt) => {
    for (const [known, end] of used) if (end <= now()) used.delete(known);
    if (used.has(code)) return false;
    used.set(code, expiresAt);
    return true;
  };
}

/** For a throw-away machine: everybody who gets in is the operator. */
export const openOperatorAccess: OperatorAccess = {
  isOpen: true,
  keyFile: '',
  secrets: [],
  isKey: () => false,
  createSession: () => '',
  isSession: () => false,
  createCode: () => '',
  redeem: () => false,
};

/** `<expiry>.<nonce>.<signature>`: nothing needs to be stored, and a new key ends every session. */
function sign(key: string, purpose: string, expiresAt: number): string {
  const claim = `${Math.round(expiresAt)}.${randomBytes(12).toString('base64url')}`;
  return `${claim}.${signature(key, purpose, claim)}`;
}

/** When a signed text ends; 0 where it is not ours. */
function expiryOf(key: string, purpose: string, text: string): number {
  const end = text.lastIndexOf('.');
  const claim = text.slice(0, Math.max(end, 0));
  const [expected, given] = [signature(key, purpose, claim), text.slice(end + 1)];
  const isOurs =
    expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
  return isOurs ? Number(claim.split('.')[0]) : 0;
}

function signature(key: string, purpose: string, claim: string): string {
  return createHmac('sha256', key).update(`${purpose}:${claim}`).digest('base64url');
}

const WHOLE = /^[\w-]{43}$/;

/**
 * The secret in a file of the home, readable for its owner only. Created when it is missing or damaged; of two
 * processes that create it at once, both end up with the same.
 */
export function readOrCreateSecret(home: string, name: string): string {
  const path = join(home, name);
  const known = readSecret(path);
  if (known !== undefined) return known;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const secret = randomBytes(32).toString('base64url');
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  try {
    return publish(draft, path) ?? secret;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Puts the draft in place; gives the secret of a process that was faster. */
function publish(draft: string, path: string): string | undefined {
  try {
    linkSync(draft, path);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const known = readSecret(path);
  if (known === undefined) renameSync(draft, path);
  return known;
}

/** Undefined where there is none, or none that is whole. */
function readSecret(path: string): string | undefined {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (!WHOLE.test(secret)) return undefined;
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
