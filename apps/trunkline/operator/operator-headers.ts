import { type Environment, readVariable } from '@trunkline/config';
import { isLoopbackHost } from '@trunkline/http';
import { readOperatorKey } from '@trunkline/identity';
import { isServedAt } from '@trunkline/service';

/** The addresses by which people reach the services of this home, where the operator has named some. */
const publicUrls = ['PUBLIC_URL', 'A2A_PUBLIC_URL', 'RESEARCH_PUBLIC_URL', 'SWITCHBOARD_PUBLIC_URL'];

/** Where a command sends its requests. */
export interface Target {
  url: string;
  /** Somebody named the address, as a flag or a variable. */
  isNamed: boolean;
  /** TRUNKLINE_HOME. */
  home: string;
}

/** The key from the settings, for an address that somebody named or that a service of this home listens at: anybody may listen at another. */
export function keyFor({ url, isNamed, home }: Target, key: string | undefined): string | undefined {
  return isNamed || isServedAt(home, url) ? key : undefined;
}

/** What to do about a refusal where a key was kept back. */
export function withheldWords({ url, home }: Target, variable: string): string {
  return `${variable} was not sent, as no service of ${home} runs at ${url}. If it is yours, name it with --url ${url}, or set TRUNKLINE_HOME to the home that it runs in.`;
}

/**
 * Shows a service that the operator of this home is at the terminal. The key goes to the services that run from this home
 * and to their public addresses only: whoever gets it may run programs here.
 */
export function operatorHeaders(url: string, home: string, env: Environment): Record<string, string> {
  const { hostname, origin } = new URL(url);
  const isOwn = isLoopbackHost(hostname)
    ? isServedAt(home, url)
    : publicUrls.some((name) => URL.parse(readVariable(name, env) ?? '')?.origin === origin);
  const key = isOwn ? readOperatorKey(home) : undefined;
  return key === undefined ? {} : { 'x-operator-key': key };
}
