import { type Environment, readVariable } from '@trunkline/config';
import { isLoopbackHost } from '@trunkline/http';
import { readOperatorKey } from '@trunkline/identity';
import { isServedAt, neighbours } from '@trunkline/service';

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

interface Wanted {
  /** The address that somebody named, if any. */
  given: string | undefined;
  /** Where the service is by its settings. */
  port: number;
  home: string;
}

/** Where to call a service: where somebody named it, else where it runs from this home, else at its port on this machine. */
export async function findService(
  name: 'agent' | 'switchboard',
  { given, port, home }: Wanted,
): Promise<Target> {
  if (given !== undefined) return { url: given, isNamed: true, home };
  const live = (await liveServices(home)).filter((service) => service.name === name);
  const usual = `http://127.0.0.1:${port}`;
  const found = live.find(({ url }) => url === usual) ?? live[0];
  return { url: found?.url ?? usual, isNamed: false, home };
}

/** Where nothing listens, this machine says so at once; a busy one may take its time to connect. */
const CONNECT_MS = 5000;

/** The services that run from this home and take connections. */
export async function liveServices(home: string): Promise<{ name: string; url: string }[]> {
  return (await neighbours(home, CONNECT_MS)).filter(({ state }) => state === 'live');
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
