import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  findIsolation,
  type Isolation,
  plainRefusal,
  requiredWords,
  type SandboxStatus,
  startRefusal,
  statusOf,
  unsandboxed,
} from './availability.ts';
import { type ContainerRuntime, containerRefusal, startContainer } from './container.ts';
import { type Stdio, withoutInherited } from './inherited-files.ts';
import { findProgram, folderMounts, homeOf, isVisible, systemMounts } from './mounts.ts';
import { type NetworkProxy, type NetworkProxyOptions, openNetworkProxy } from './network-proxy.ts';
import { markProcesses, OWN_PROCESSES, watchTree } from './process-tree.ts';
import { createProcessCgroup, limited, type ProcessCgroup, type SandboxLimits } from './resource-limits.ts';
import { seccompFilter } from './seccomp.ts';

/** `auto` starts nothing without isolation but what its own settings exempt, `require` not even that, `off` isolates nothing. */
const SANDBOX_MODES = ['auto', 'require', 'off'] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** `public`: every host but this machine and private networks. `open`: the network as the service has it. */
export type SandboxNetwork = 'none' | 'public' | 'open' | { hosts: readonly string[] };

export interface SandboxRequest {
  /** Keeps the homes of MCP servers apart from those of coding agents with the same name. */
  kind?: 'mcp';
  /** Gives the program a home of its own that stays from start to start; without it HOME is /tmp or in `writable`. */
  name?: string;
  command: string;
  args: readonly string[];
  cwd: string;
  /** All that the program gets of the environment; programs are looked for in its PATH. */
  env: Readonly<Record<string, string>>;
  /** Folders that it may change. */
  writable: readonly string[];
  /** Folders and files that it may read beside the system and its own files. */
  readOnly?: readonly string[];
  /** Files that arguments name are shown read-only, with their project. Never for arguments that a model wrote. */
  showsArguments?: boolean;
  network: SandboxNetwork;
  limits?: SandboxLimits;
  stdin?: 'ignore' | 'pipe';
  stdout?: 'ignore' | 'pipe';
  /** Opens a pipe for both directions as file 3. Not Node's own channel, through which a child can crash its parent. */
  channel?: boolean;
  /** False runs it without isolation, as its own setting asks for. */
  isolate?: boolean;
}

export interface SandboxedProcess {
  child: ChildProcess;
  isolated: boolean;
  /** Hosts that the program asked for and may not reach. */
  refusedHosts: readonly string[];
  /** The limit that it went beyond, in words that complete "it was stopped: ...". */
  exceeded(): string | undefined;
  /** Kills it and all that it started; resolves when all are gone. */
  end(): Promise<void>;
}

export interface SandboxOptions {
  mode: SandboxMode;
  /** Folders and files that no program sees, wherever they lie: data of the services, key files. */
  hidden?: readonly string[];
  /** Folders that programs could change in earlier runs of the service, such as the workspace. */
  workspaces?: readonly string[];
  /** The folder for the homes of programs that have a name. */
  homes?: string;
  /** Hosts that commands of agents may reach; `*` alone opens the network. Default none. */
  commandHosts?: readonly string[];
  memoryMb?: number;
  /** The image for podman or docker, where bubblewrap is missing. SANDBOX_IMAGE. */
  image?: string | undefined;
  /** Which addresses the hosts of an allow-list may have. */
  addresses?: Omit<NetworkProxyOptions, 'hosts'>;
  /** Given by tests. */
  isolation?: Isolation;
}

export interface Sandbox {
  /** What commands of agents may reach. */
  readonly commandNetwork: SandboxNetwork;
  /** Of one program with all that it starts. */
  readonly memoryMb: number;
  start(request: SandboxRequest): Promise<SandboxedProcess>;
  /** Rejects unless the settings let this program run without isolation; for whoever starts it another way. */
  checkPlain(request: Pick<SandboxRequest, 'command' | 'isolate'>): Promise<void>;
  status(): Promise<SandboxStatus>;
}

const DEFAULT_MEMORY_MB = 2048;

export function createSandbox(options: SandboxOptions): Sandbox {
  const {
    mode,
    homes,
    hidden = [],
    addresses = {},
    commandHosts = [],
    memoryMb = DEFAULT_MEMORY_MB,
  } = options;
  /** Grows with every start: what one program may change can hold a link that another follows. */
  const roots = new Set([...(options.workspaces ?? []), ...(homes === undefined ? [] : [homes])]);
  const isolation = async () => options.isolation ?? (await findIsolation(options.image));
  return {
    commandNetwork: networkOf(commandHosts),
    memoryMb,
    async start(request) {
      if (mode === 'off') return startPlain(request);
      const found = await isolation();
      if (request.isolate !== false && found.kind === 'bubblewrap')
        return await startIsolated(request, { program: found.program, homes, hidden, roots, addresses });
      if (request.isolate !== false && found.kind === 'container') {
        const refusal = containerRefusal(request, mode);
        if (refusal !== undefined) throw new Error(`${request.command} was not started: ${refusal}`);
        // A plugin is still held by Node's permission model.
        if (request.channel) return startPlain(request);
        return startInContainer(request, found, { homes, hidden, roots, memoryMb });
      }
      if (request.isolate !== false && found.kind === 'none')
        throw new Error(`${request.command} was not started: ${startRefusal(found)}`);
      if (mode === 'auto') return startPlain(request);
      throw new Error(`${request.command} was not started: ${requiredWords}`);
    },
    async checkPlain({ command, isolate }) {
      const refusal = mode === 'off' ? undefined : await plainRefusal(isolate, mode, isolation);
      if (refusal !== undefined) throw new Error(`${command} was not started: ${refusal}`);
    },
    async status() {
      return mode === 'off' ? unsandboxed : statusOf(await isolation());
    },
  };
}

function networkOf(hosts: readonly string[]): SandboxNetwork {
  if (hosts.includes('*')) return 'open';
  return hosts.length === 0 ? 'none' : { hosts };
}

function startPlain(request: SandboxRequest): SandboxedProcess {
  const { command, args, cwd, env, stdin = 'ignore', stdout = 'pipe', channel, limits } = request;
  const processes = markProcesses();
  const child = spawn(command, [...args], {
    cwd,
    env: { ...env, ...processes.environment },
    stdio: [stdin, stdout, stdout, ...(channel ? (['pipe'] as const) : [])],
    detached: true,
  });
  const end = () => processes.end(child.pid);
  return supervise(child, { isolated: false, limits: { seconds: limits?.seconds }, end });
}

function startInContainer(
  request: SandboxRequest,
  runtime: ContainerRuntime,
  { homes, hidden, roots, memoryMb }: Pick<Setup, 'homes' | 'hidden' | 'roots'> & { memoryMb: number },
): SandboxedProcess {
  const ownHome = homeOf(request, homes) ?? [];
  const writable = [...request.writable, ...ownHome];
  const HOME = isVisible(request.env.HOME, request.writable) ? request.env.HOME : (ownHome[0] ?? '/tmp');
  const limits = { memoryMb, ...request.limits };
  const started = startContainer(runtime, {
    ...request,
    env: { ...request.env, HOME },
    writable,
    isOffline: request.network === 'none',
    limits,
    hidden,
    roots: [...roots],
  });
  for (const folder of writable) roots.add(folder);
  return supervise(started.child, { isolated: true, limits: { seconds: limits.seconds }, end: started.end });
}

interface Setup {
  program: string;
  homes: string | undefined;
  hidden: readonly string[];
  roots: Set<string>;
  addresses: Omit<NetworkProxyOptions, 'hosts'>;
}

const NAMESPACES = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
];

/** Inside nobody is root, whatever account the service has. */
const USER_ID = '1000';

/** Both count as memory of the machine. */
const TMP_BYTES = 512 * 1024 ** 2;
const SHARED_MEMORY_BYTES = 64 * 1024 ** 2;

const FORWARDER = fileURLToPath(new URL('./forwarder.ts', import.meta.url));
/** Not .ts: loading what strips types takes longer than all the rest. */
const INNER_FORWARDER = '/run/trunkline/forwarder.mjs';
const INNER_SOCKET = '/run/trunkline/proxy.sock';
const INNER_NODE = '/run/trunkline/node';
const PROXY_PORT = '3128';

async function startIsolated(request: SandboxRequest, setup: Setup): Promise<SandboxedProcess> {
  const { command, cwd, env, network, stdin = 'ignore', stdout = 'pipe', channel } = request;
  const path = env.PATH ?? '/usr/local/bin:/usr/bin:/bin';
  const program = findProgram(command, path, cwd);
  if (program === undefined)
    throw Object.assign(new Error(`spawn ${command} ENOENT`), {
      code: 'ENOENT',
      syscall: 'spawn',
      path: command,
    });
  const ownHome = homeOf(request, setup.homes);
  const writable = [...request.writable, ...(ownHome ?? [])];
  const home = isVisible(env.HOME, request.writable) ? env.HOME : (ownHome?.[0] ?? '/tmp');
  const folders = folderMounts({
    command: program,
    args: request.showsArguments ? request.args : [],
    cwd,
    path,
    writable,
    readOnly: request.readOnly ?? [],
    hidden: setup.hidden,
    roots: [...setup.roots, ...writable],
  });
  for (const folder of writable) setup.roots.add(folder);
  const proxy =
    network === 'none' || network === 'open'
      ? undefined
      : await openNetworkProxy(proxyOptions(network, setup));
  const files = extraFiles(home, { ...env, PATH: path, HOME: home, ...(proxy && proxyEnvironment) });
  const firstFile = channel ? 4 : 3;
  const stdio: Stdio[] = [stdin, stdout, stdout, ...(channel ? (['pipe'] as const) : [])];
  stdio.push(...files.map(() => 'pipe' as const));
  const args = [
    ...NAMESPACES,
    ...(network === 'open' ? [] : ['--unshare-net']),
    ...['--uid', USER_ID, '--gid', USER_ID],
    ...systemMounts(network === 'open' ? 'open' : 'closed'),
    ...['--proc', '/proc', '--dev', '/dev', '--size', `${SHARED_MEMORY_BYTES}`, '--tmpfs', '/dev/shm'],
    ...['--remount-ro', '/dev', '--size', `${TMP_BYTES}`, '--tmpfs', '/tmp', '--symlink', '/tmp', '/var/tmp'],
    ...files.flatMap(({ flags }, index) => [flags[0] ?? '', `${firstFile + index}`, ...flags.slice(1)]),
    ...(proxy === undefined ? [] : proxyMounts(proxy)),
    ...['--dir', cwd],
    ...folders,
    // Files of /proc/sys belong to root, and so to a service that runs as root: bwrap covers them only in part.
    ...['--remount-ro', '/proc', '--remount-ro', '/', '--chdir', cwd, '--'],
    ...limited(request.limits ?? {}),
    ...(proxy === undefined ? [] : [INNER_NODE, '--no-warnings', INNER_FORWARDER, INNER_SOCKET, PROXY_PORT]),
    ...[program, ...request.args],
  ];
  const { limits = {} } = request;
  const { processes } = limits;
  let group: ProcessCgroup | undefined;
  const cleanUp = () => {
    group?.remove();
    void proxy?.close();
  };
  let child: ChildProcess;
  try {
    group = processes === undefined ? undefined : createProcessCgroup(processes + OWN_PROCESSES);
    const [first = '', ...launch] = [...(group?.prefix ?? []), setup.program, ...args];
    // The variables of the program act on bwrap too (LD_PRELOAD), so it gets none of them itself.
    child = withoutInherited(stdio, (stdio) =>
      spawn(first, launch, { cwd: '/', env: {}, stdio, detached: true }),
    );
  } catch (error) {
    cleanUp();
    throw error;
  }
  for (const [index, { bytes }] of files.entries()) feed(child.stdio[firstFile + index] as Writable, bytes);
  child.once('exit', cleanUp);
  child.once('error', cleanUp);
  const end = async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return supervise(child, { isolated: true, limits, refusedHosts: proxy?.refused, end });
}

/** What FETCH_ALLOWED_HOSTS opens is meant for the services: a program reaches it only where its own list names it. */
function proxyOptions(
  network: 'public' | { hosts: readonly string[] },
  { addresses }: Setup,
): NetworkProxyOptions {
  if (network !== 'public') return { ...addresses, hosts: network.hosts };
  const { allowedHosts: _hosts, allowedCidrs: _cidrs, ...rest } = addresses;
  return { ...rest, hosts: 'public' };
}

interface Supervision {
  isolated: boolean;
  limits: SandboxLimits;
  refusedHosts?: readonly string[] | undefined;
  end(): Promise<void>;
}

function supervise(child: ChildProcess, supervision: Supervision): SandboxedProcess {
  const { isolated, limits, refusedHosts = [], end } = supervision;
  let exceeded: string | undefined;
  const stop = (words: string) => {
    exceeded ??= words;
    void end();
  };
  const { seconds, memoryMb, processes, cpuSeconds } = limits;
  const timer =
    seconds === undefined
      ? undefined
      : setTimeout(() => stop(`it took longer than ${seconds} s`), seconds * 1000);
  const unwatch =
    isolated && child.pid !== undefined
      ? watchTree(child.pid, { memoryMb, processes, cpuSeconds }, stop)
      : () => undefined;
  const release = () => {
    clearTimeout(timer);
    unwatch();
  };
  child.once('exit', release);
  child.once('error', release);
  return { child, isolated, refusedHosts, exceeded: () => exceeded, end };
}

/**
 * What bwrap reads from pipes: the filter, an account so that programs find a name for their number, and the environment,
 * which a command line would show to every account.
 */
function extraFiles(
  home: string,
  env: Readonly<Record<string, string>>,
): { flags: [string, ...string[]]; bytes: Buffer }[] {
  const filter = seccompFilter(process.arch);
  const passwd = `user:x:${USER_ID}:${USER_ID}:user:${home}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n`;
  const group = `user:x:${USER_ID}:\nnogroup:x:65534:\n`;
  const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]);
  return [
    { flags: ['--args'], bytes: Buffer.from(['--clearenv', ...variables].join('\0')) },
    { flags: ['--ro-bind-data', '/etc/passwd'], bytes: Buffer.from(passwd) },
    { flags: ['--ro-bind-data', '/etc/group'], bytes: Buffer.from(group) },
    ...(filter === undefined ? [] : [{ flags: ['--seccomp'] as [string], bytes: filter }]),
  ];
}

function feed(pipe: Writable, bytes: Buffer): void {
  // bwrap may end before it has read; its own complaint says why.
  pipe.on('error', () => pipe.destroy());
  pipe.end(bytes);
}

function proxyMounts({ socket }: NetworkProxy): string[] {
  return [
    ...['--ro-bind', process.execPath, INNER_NODE],
    ...['--ro-bind', FORWARDER, INNER_FORWARDER],
    ...['--bind', socket, INNER_SOCKET],
  ];
}

const proxyAddress = `http://127.0.0.1:${PROXY_PORT}`;
const proxyEnvironment = {
  ...{ HTTP_PROXY: proxyAddress, HTTPS_PROXY: proxyAddress, ALL_PROXY: proxyAddress },
  ...{ http_proxy: proxyAddress, https_proxy: proxyAddress, all_proxy: proxyAddress },
  ...{ NO_PROXY: 'localhost,127.0.0.1,::1', no_proxy: 'localhost,127.0.0.1,::1' },
  // Node's own fetch looks at the variables above only with this.
  NODE_USE_ENV_PROXY: '1',
};
