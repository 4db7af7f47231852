import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, isFolder, layOut } from './mounts.ts';
import { limited, type SandboxLimits } from './resource-limits.ts';

/** A container runtime, for systems without bubblewrap. */
export interface ContainerRuntime {
  kind: 'container';
  /** The command line of podman or docker. */
  program: string;
  image: string;
}

export interface ContainerRequest {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Mounted where they are. */
  writable: readonly string[];
  readOnly?: readonly string[] | undefined;
  /** False: the network of the runtime. */
  isOffline: boolean;
  limits?: SandboxLimits | undefined;
  stdin?: 'ignore' | 'pipe' | undefined;
  stdout?: 'ignore' | 'pipe' | undefined;
  /** Folders and files that the program must not see. */
  hidden: readonly string[];
  /** Folders that programs could change: no link may lead out of them. */
  roots: readonly string[];
}

const RUNTIMES = ['podman', 'docker'];
const PROBE_MS = 20_000;
const MEMORY_MB = 2048;
const PROCESSES = 512;
const OPEN_FILES = 4096;
const ACCOUNT_PROCESSES = 16_384;

/** Looks for a runtime that has the image and can run it so; never pulls one. Gives the reason where there is none. */
export async function findContainer(image: string, path: string): Promise<ContainerRuntime | string> {
  const programs = RUNTIMES.flatMap((name) => findProgram(name, path, '/') ?? []);
  if (programs.length === 0) return 'neither podman nor docker is installed for SANDBOX_IMAGE';
  const reasons: string[] = [];
  for (const program of programs) {
    const reason = await tryRuntime(program, image);
    if (reason === undefined) return { kind: 'container', program, image };
    reasons.push(reason);
  }
  return reasons.join('; ');
}

async function tryRuntime(program: string, image: string): Promise<string | undefined> {
  const missing = await failureOf(program, ['image', 'inspect', image]);
  if (missing !== undefined)
    return `${program} does not have the image ${image} of SANDBOX_IMAGE: pull or build it yourself (${missing})`;
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-probe-'));
  const name = `trunkline-${randomUUID()}`;
  try {
    const request = { command: '/bin/sh', args: ['-c', ':'], cwd: folder, env: {}, writable: [folder] };
    const args = containerArguments(
      { kind: 'container', program, image },
      { ...request, isOffline: true, hidden: [], roots: [] },
      { name, environmentFile: undefined },
    );
    const failure = await failureOf(program, args);
    // One that hung would stay.
    if (failure !== undefined) await failureOf(program, ['rm', '--force', name]);
    return failure && `${program} cannot run ${image}: ${failure}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function failureOf(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: PROBE_MS, killSignal: 'SIGKILL' }, (error, _stdout, stderr) => {
      if (error === null) return resolve(undefined);
      const took = error.killed ? `it took longer than ${PROBE_MS / 1000} s` : undefined;
      resolve(took ?? (stderr.trim().split('\n').at(-1) || error.message));
    });
  });
}

interface Naming {
  name: string;
  environmentFile: string | undefined;
}

/** What is run, for podman and docker alike. Programs are those of the image, or lie in a mounted folder. */
function containerArguments(
  { program, image }: ContainerRuntime,
  request: ContainerRequest,
  { name, environmentFile }: Naming,
): string[] {
  const {
    memoryMb = MEMORY_MB,
    reservedMb,
    processes = PROCESSES,
    fileMb,
    cpuSeconds,
  } = request.limits ?? {};
  const isPodman = program.endsWith('podman');
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const isRootless = isPodman && uid !== 0;
  // Rootless podman on cgroups of version 1 ignores its own limits; it gives each container a user namespace.
  const bounded = limited({ memoryMb, reservedMb, processes: isRootless ? processes : undefined });
  return [
    ...['run', '--rm', '--pull=never', `--name=${name}`, '--hostname=sandbox'],
    // Else podman waits ten seconds for a program that is to be removed.
    '--stop-timeout=0',
    ...(request.stdin === 'pipe' ? ['--interactive'] : []),
    ...(request.isOffline ? ['--network=none'] : []),
    ...['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges', '--security-opt=label=disable'],
    ...[
      `--pids-limit=${processes}`,
      `--memory=${memoryMb}m`,
      `--cpus=${Math.min(2, availableParallelism())}`,
    ],
    ...[`--ulimit=nofile=${OPEN_FILES}:${OPEN_FILES}`, '--ulimit=core=0:0'],
    // Of all processes of the account: podman would ask for more than a limited account may have.
    `--ulimit=nproc=${ACCOUNT_PROCESSES}:${ACCOUNT_PROCESSES}`,
    ...(cpuSeconds === undefined ? [] : [`--ulimit=cpu=${Math.ceil(cpuSeconds)}:${Math.ceil(cpuSeconds)}`]),
    ...(fileMb === undefined ? [] : [`--ulimit=fsize=${fileMb * 2 ** 20}:${fileMb * 2 ** 20}`]),
    '--tmpfs=/tmp:rw,size=512m',
    // Files that it writes belong to the account of the service.
    ...(isRootless ? ['--userns=keep-id'] : []),
    // Podman would hand on the addresses of proxies, which may hold a password.
    ...(isPodman ? ['--http-proxy=false'] : []),
    `--user=${uid}:${gid}`,
    ...mounts(request, isPodman),
    ...(environmentFile === undefined ? [] : [`--env-file=${environmentFile}`]),
    ...[`--workdir=${request.cwd}`, '--entrypoint=', image, ...bounded, request.command, ...request.args],
  ];
}

/** As bubblewrap shows and covers them. */
function mounts(request: ContainerRequest, isPodman: boolean): string[] {
  const folders = layOut({ ...request, readOnly: request.readOnly ?? [] });
  return folders.map(({ kind, source, target }) => {
    const odd = [source, target].find((path) => /[,"\r\n]/.test(path));
    if (odd !== undefined)
      throw new Error(
        `${odd} cannot be given to a container: its name has a comma, a quote or a line break. Rename it.`,
      );
    if (kind === 'hidden' && isFolder(source))
      // Else podman fills it with what lies below.
      return `--mount=type=tmpfs,destination=${target},tmpfs-size=4096${isPodman ? ',notmpcopyup' : ''}`;
    const shown = kind === 'hidden' ? '/dev/null' : source;
    return `--mount=type=bind,source=${shown},destination=${target}${kind === 'writable' ? '' : ',readonly'}`;
  });
}

/** What only bubblewrap can do. */
export function containerRefusal(
  { channel, network }: { channel?: boolean; network: unknown },
  mode: string,
): string | undefined {
  const words = 'needs bubblewrap, and here is only a container runtime (SANDBOX_IMAGE).';
  if (channel) return mode === 'require' ? `a plugin ${words}` : undefined;
  if (network === 'none' || network === 'open') return undefined;
  const given = network === 'public' ? 'a network without this machine' : 'a list of hosts';
  return `${given} ${words} Set "sandbox: { network: none }" or "{ network: open }" for it, or turn its sandbox off.`;
}

/** Starts the program; `end` removes the container, as it outlives the command that started it. */
export function startContainer(
  runtime: ContainerRuntime,
  request: ContainerRequest,
): { child: ChildProcess; end(): Promise<void> } {
  const { env, stdin = 'ignore', stdout = 'pipe' } = request;
  const odd = Object.keys(env).find((name) => /[\r\n]/.test(env[name] ?? ''));
  if (odd !== undefined)
    throw new Error(
      `${request.command} was not started: the variable ${odd} has several lines, which a container cannot take.`,
    );
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-env-'));
  const forget = () => rmSync(folder, { recursive: true, force: true });
  try {
    // Not on the command line, which every account can read.
    const environmentFile = join(folder, 'environment');
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(environmentFile, lines.join(''), { mode: 0o600 });
    const name = `trunkline-${randomUUID()}`;
    const args = containerArguments(runtime, request, { name, environmentFile });
    const child = spawn(runtime.program, args, { cwd: '/', stdio: [stdin, stdout, stdout], detached: true });
    child.once('exit', forget);
    child.once('error', forget);
    return { child, end: () => remove(runtime.program, name, child) };
  } catch (error) {
    forget();
    throw error;
  }
}

async function remove(program: string, name: string, child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  // The container may not be there yet, so the command that makes it ends first.
  child.kill('SIGKILL');
  await exit;
  await failureOf(program, ['rm', '--force', '--volumes', name]);
}
