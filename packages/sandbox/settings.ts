import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { SandboxNetwork } from './sandbox.ts';

const network = z.union([
  z.enum(['none', 'public', 'open']),
  z.strictObject({ hosts: z.array(z.string().min(1)).max(200) }),
]);

/** `sandbox` of one program in a configuration: off, or what it may reach beyond the default. */
export const sandboxSettings = z.union([
  // YAML readers turn `off` into false.
  z.literal(['off', false]).transform(() => 'off' as const),
  z.strictObject({
    network: network.optional(),
    readOnly: z.array(z.string().min(1)).default([]),
    writable: z.array(z.string().min(1)).default([]),
  }),
]);

export type SandboxSettings = z.output<typeof sandboxSettings>;

interface Resolved {
  isolate: boolean;
  network: SandboxNetwork;
  readOnly: string[];
  writable: string[];
}

/** The part of a request that a program's settings decide. */
export function resolveSettings(
  settings: SandboxSettings | undefined,
  defaults: { network: SandboxNetwork; writable: readonly string[]; readOnly?: readonly string[] },
): Resolved {
  const { writable, readOnly = [] } = defaults;
  if (settings === undefined || settings === 'off')
    return {
      isolate: settings !== 'off',
      network: defaults.network,
      readOnly: [...readOnly],
      writable: [...writable],
    };
  return {
    isolate: true,
    network: settings.network ?? defaults.network,
    readOnly: [...readOnly, ...settings.readOnly.map(expandHome)],
    writable: [...writable, ...settings.writable.map(expandHome)],
  };
}

function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
