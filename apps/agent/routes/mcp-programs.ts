import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Accounts } from '@trunkline/accounts';
import { type AppEnv, isLoopbackHost, type SignInProvider } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import type { Context } from 'hono';
import { z } from 'zod';

export interface McpAuthorizationRoutes {
  registrations: ProgramRegistrations;
  accounts: Pick<Accounts, 'get' | 'programs'>;
  operator: OperatorAccess;
  /** A2A_PUBLIC_URL */
  publicUrl: string | undefined;
  /** As the page calls the agent. */
  agentName: string;
  instance: string | undefined;
  homePath: string;
  /** Where people may sign in beside keys. */
  provider: SignInProvider | undefined;
}

/** What a program said of itself when it registered. */
export interface RegisteredProgram {
  name: string;
  redirects: string[];
}

const programForm = z.object({ name: z.string(), redirects: z.array(z.string()) });

/** OAuth client ids. Anybody may register, so nothing is stored: the id holds what was registered, with a signature. */
export class ProgramRegistrations {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  register(program: RegisteredProgram): string {
    const claim = Buffer.from(JSON.stringify(program)).toString('base64url');
    return `${claim}.${this.#signature(claim)}`;
  }

  find(clientId: string): RegisteredProgram | undefined {
    const [claim = '', given = '', ...more] = clientId.split('.');
    if (more.length > 0) return undefined;
    const [left, right] = [Buffer.from(this.#signature(claim)), Buffer.from(given)];
    if (left.length !== right.length || !timingSafeEqual(left, right)) return undefined;
    return programForm.parse(JSON.parse(Buffer.from(claim, 'base64url').toString()));
  }

  #signature(claim: string): string {
    return createHmac('sha256', this.#secret).update(claim).digest('base64url');
  }
}

const FORBIDDEN =
  /^(javascript|data|file|blob|about|vbscript|filesystem|view-source|ftp|wss?|mailto|tel|ssh):$/;

/** Addresses of the web, of this machine, and of apps that have a scheme of their own (RFC 8252). */
export function isAllowedRedirect(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.hash !== '' || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'http:') return isLoopbackHost(url.hostname);
  return !FORBIDDEN.test(url.protocol);
}

/** On this machine programs listen on whichever port is free. */
export function isSameRedirect(registered: string, given: string): boolean {
  if (registered === given) return true;
  const [left, right] = [URL.parse(registered), URL.parse(given)];
  if (left === null || right === null || left.protocol !== 'http:' || !isLoopbackHost(left.hostname))
    return false;
  right.port = left.port;
  return left.href === right.href;
}

/** Tokens are for this agent, also where several share the accounts. */
export function audienceOf({ agentName, instance }: McpAuthorizationRoutes): string {
  return instance === undefined ? agentName : `${agentName} (${instance})`;
}

/**
 * The address that clients know us by. A public one with TLS belongs to a proxy, which may hide the name that was asked for;
 * one without may be a name between services, so that the checked name of the request counts.
 */
export function baseOf({ req }: Context<AppEnv>, { publicUrl }: McpAuthorizationRoutes): string {
  const own = new URL(`http://${req.header('host')}`);
  const set = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (set === undefined || (set.protocol === 'http:' && set.host !== own.host)) return own.origin;
  return set.origin + set.pathname.replace(/\/+$/, '');
}
