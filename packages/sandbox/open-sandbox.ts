import { join } from 'node:path';
import { createSandbox, type Sandbox, type SandboxMode } from './sandbox.ts';

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
