import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';

/** What keeps a plugin's process from the network and from signalling other processes. */
export interface Confinement {
  /** Goes before the program and its arguments. */
  prefix: readonly string[];
  /** Denials that this system does not enforce, for people. */
  unenforced: readonly string[];
}

/** From this one, `--permission` denies the network too. */
const NODE_DENIES_NETWORK = process.allowedNodeEnvironmentFlags.has('--allow-net');
const PROBE_TIMEOUT_MS = 5000;
const PLACES = ['/usr/bin/unshare', '/bin/unshare'];

/** A network without interfaces, and process ids in which the service does not exist; all ends with `unshare` itself. */
const NAMESPACES = ['--net', '--pid', '--fork', '--kill-child'];
/** An account needs a user namespace to make the others; where those are forbidden, root can do without. */
const WAYS = [['--user', '--map-current-user', ...NAMESPACES], NAMESPACES];

let found: Promise<Confinement> | undefined;

/** The confinement that this system allows, tried out once. */
export function findConfinement(): Promise<Confinement> {
  found ??= probe();
  return found;
}

/** Only what Node itself enforces. */
export const unconfined: Confinement = {
  prefix: [],
  unenforced: [...(NODE_DENIES_NETWORK ? [] : ['network']), 'signals to other processes'],
};

async function probe(): Promise<Confinement> {
  const command = process.platform === 'linux' ? PLACES.find((place) => existsSync(place)) : undefined;
  if (command === undefined) return unconfined;
  for (const flags of WAYS) {
    if (await works(command, [...flags, process.execPath, '--version']))
      return { prefix: [command, ...flags], unenforced: [] };
  }
  return unconfined;
}

function works(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: PROBE_TIMEOUT_MS, killSignal: 'SIGKILL', env: {} }, (error) =>
      resolve(error === null),
    );
  });
}
