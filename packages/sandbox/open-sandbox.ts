import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createSandbox, type Sandbox, type SandboxMode, type SandboxNetwork } from './sandbox.ts';

/** The settings of a service that the sandbox reads. */
export interface SandboxServiceOptions {
  trunklineHome: string;
  /** The key of the stored secrets, where it is kept in a file outside of the home. */
  secretsKeyFile?: string | undefined;
  sandbox: SandboxMode;
  sandboxHosts: readonly string[];
  sandboxMemoryMb: number;
  sandboxImage?: string | undefined;
  fetchAllowedHosts?: readonly string[];
  fetchAllowedCidrs?: readonly string[];
}

interface SandboxServiceContext {
  service: string;
  /** Folders with secrets beside TRUNKLINE_HOME, such as that of the configuration. */
  hidden?: readonly string[];
  /** Folders that programs may change. */
  workspaces?: readonly string[];
  logger: { warn(fields: object, message: string): void };
}

/** One process may hold four services, and one warning is enough. */
let hasWarned = false;

/** The sandbox of a service. Logs a warning where programs are refused or run without isolation. */
export function openSandbox(options: SandboxServiceOptions, context: SandboxServiceContext): Sandbox {
  const { trunklineHome, fetchAllowedHosts = [], fetchAllowedCidrs = [] } = options;
  const { service, hidden = [], workspaces = [], logger } = context;
  const sandbox = createSandbox({
    mode: options.sandbox,
    hidden: [
      trunklineHome,
      join(process.cwd(), '.env'),
      ...(options.secretsKeyFile === undefined
        ? []
        : [options.secretsKeyFile, `${options.secretsKeyFile}.new`]),
      ...hidden,
    ],
    workspaces,
    homes: join(trunklineHome, service, 'sandbox'),
    commandHosts: options.sandboxHosts,
    memoryMb: options.sandboxMemoryMb,
    image: options.sandboxImage,
    addresses: { allowedHosts: fetchAllowedHosts, allowedCidrs: fetchAllowedCidrs },
  });
  void sandbox.status().then(({ isolated, refuses, words, advice }) => {
    if (isolated || hasWarned) return;
    hasWarned = true;
    if (refuses) logger.warn({ sandbox: words, advice }, 'no sandbox: programs are refused');
    else logger.warn({ sandbox: words }, 'programs run without a sandbox');
  });
  return sandbox;
}

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
