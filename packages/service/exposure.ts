import { isLoopbackHost, type KeyFacts } from '@trunkline/http';
import type { Diagnosis } from './service.ts';

/** A port as others reach it: of a service, or one beside it. */
export interface Exposure {
  name: string;
  host: string;
  /** It takes work from whoever reaches it, without a key. */
  isOpen: boolean;
  /** The variable or file that sets its key. */
  variable: string;
  /** Keys that people chose, by the variable or file they stand in. */
  keys?: Readonly<Record<string, KeyFacts | undefined>>;
}

/** The port of a service, and that of gRPC where it has one: it asks for the same keys. */
export function withGrpcPort(service: Exposure, grpcPort: number | undefined): Exposure[] {
  if (grpcPort === undefined) return [service];
  return [service, { ...service, name: `gRPC of ${service.name}` }];
}

/** Ports without a key, right on a machine of one's own, wrong where others reach it; and what others reach with one. */
export function checkPorts(ports: readonly Exposure[]): Diagnosis[] {
  const open = ports.filter(({ isOpen }) => isOpen);
  const exposed = open.filter(({ host }) => !isLoopbackHost(host));
  const found: Diagnosis[] = exposed.map(({ name, host, variable }) => ({
    subject: `${name} is open`,
    state: 'warning',
    words: `it listens on ${host} and takes work from whoever reaches it.`,
    advice: `Set ${variable}, or let it listen on 127.0.0.1.`,
  }));
  const guarded = ports.filter(({ isOpen, host }) => !isOpen && !isLoopbackHost(host));
  if (guarded.length > 0) {
    const named = guarded.map(({ name, host, variable }) => `${name} on ${host} (${variable})`).join(', ');
    const words = `other machines reach, with a key: ${named}. Put a proxy with TLS in front.`;
    found.push({ subject: 'reachable services', state: 'ok', words });
  }
  const local = open.filter(({ host }) => isLoopbackHost(host)).map(({ name }) => name);
  if (local.length === 0) return found;
  const words = `every account of this machine may give work to ${local.join(', ')}; settings and approvals need the operator's key.`;
  return [...found, { subject: 'open services', state: 'ok', words }];
}

/** Keys that people chose for our own services; those of other products are theirs to judge. */
export function checkKeys(ports: readonly Exposure[]): Diagnosis[] {
  const all = ports.flatMap(({ keys = {} }) => Object.entries<KeyFacts | undefined>(keys));
  const isSet = (entry: [string, KeyFacts | undefined]): entry is [string, KeyFacts] =>
    entry[1] !== undefined;
  // Several ports may name the same variable, and not each has to know its value.
  const set = Object.entries(Object.fromEntries(all.filter(isSet)));
  const weak = set.filter(([, { isWeak }]) => isWeak);
  const repeated = set.filter(
    ([, { digest }]) => set.filter(([, other]) => other.digest === digest).length > 1,
  );
  const subject = 'keys';
  const findings: Diagnosis[] = weak.map(([name]) => ({
    subject,
    state: 'failed',
    words: `${name} can be guessed: it is short or has few different characters.`,
    advice: 'Take a random one, for example from "openssl rand -base64 32".',
  }));
  if (repeated.length > 0) {
    const names = repeated.map(([name]) => name).join(' and ');
    const advice = 'Give each its own: a caller of one service can use the others with it.';
    findings.push({ subject, state: 'warning', words: `${names} have the same value.`, advice });
  }
  if (findings.length > 0) return findings;
  const words = set.length === 0 ? 'no key of our own services is set.' : `${set.length} set, none weak.`;
  return [{ subject, state: 'ok', words }];
}
