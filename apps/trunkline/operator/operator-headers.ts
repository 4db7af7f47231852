import { type Environment, readVariable } from '@trunkline/config';
import { isLoopbackHost } from '@trunkline/http';
import { readOperatorKey } from '@trunkline/identity';
import { isServedAt } from '@trunkline/service';

/** The addresses by which people reach the services of this home, where the operator has named some. */
const publicUrls = ['PUBLIC_URL', 'A2A_PUBLIC_URL', 'RESEARCH_PUBLIC_URL', 'SWITCHBOARD_PUBLIC_URL'];

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
