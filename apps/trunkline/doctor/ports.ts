import { createServer } from 'node:net';
import type { Diagnosis } from '@trunkline/service';
import type { ServiceOptions } from '../fleet/service-options.ts';

const LIMIT_MS = 5000;

/** Checks that each service's port is free, or held by that service. */
export function checkPorts(services: ServiceOptions): Promise<Diagnosis[]> {
  return Promise.all(Object.entries(services).map(([name, { port, host }]) => checkPort(name, port, host)));
}

async function checkPort(name: string, port: number, host: string): Promise<Diagnosis> {
  const subject = `port ${port}`;
  const reason = await whyTaken(port, host);
  if (reason === undefined) return { subject, state: 'ok', words: `free for ${name}.` };
  if (reason === 'EADDRINUSE' && (await answers(host, port)))
    return { subject, state: 'ok', words: `a service answers there (${name}'s port).` };
  const advice = `Stop the program that has it, or set ${name.toUpperCase()}_PORT to another port.`;
  return { subject, state: 'failed', words: `${name} cannot listen on ${host}:${port} (${reason}).`, advice };
}

function whyTaken(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
}

async function answers(host: string, port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://${reachable(host)}:${port}/healthz`, {
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null && 'model' in body;
  } catch {
    // Not one of our services, or one that hangs: either way the port is taken.
    return false;
  }
}

/** The address to call a service at; one that listens on all addresses answers on loopback. */
export function reachable(host: string): string {
  if (['0.0.0.0', '::', ''].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
