import { createHash } from 'node:crypto';
import { accessSync, constants, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** What a program in the sandbox sees of the file system beside the read-only system. */
export interface MountRequest {
  command: string;
  args: readonly string[];
  cwd: string;
  path: string;
  writable: readonly string[];
  readOnly: readonly string[];
  /** Covered wherever a visible folder would show them, unless they are listed as writable or read-only themselves. */
  hidden: readonly string[];
  /** Folders that programs may change or could change before: a link below them may be planted and must not lead out. */
  roots: readonly string[];
}

const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];

/** Of /etc only what programs need to find libraries, names, certificates and the time zone. */
const ETC = [
  'alternatives',
  'ca-certificates',
  'ca-certificates.conf',
  'fonts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'pki',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'timezone',
];

/** Only where the program shares the network of the host. */
const ETC_NETWORK = ['gai.conf', 'host.conf', 'hosts', 'resolv.conf'];

/** Never shown whole, although a program may lie right in them. */
const TOO_WIDE = ['/', '/home', '/root', '/tmp', '/var', '/var/tmp', '/etc', '/opt', '/srv', '/mnt', '/run'];

const PROJECT_MARKS = ['package.json', 'node_modules', 'pyvenv.cfg', 'pyproject.toml'];

/** The read-only system, as arguments of bwrap. */
export function systemMounts(network: 'open' | 'closed'): string[] {
  const etc = network === 'open' ? [...ETC, ...ETC_NETWORK] : ETC;
  return [
    ...SYSTEM.flatMap((path) => systemMount(path)),
    ...etc.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
  ];
}

/** On most systems /bin and the like lead into /usr. */
function systemMount(path: string): string[] {
  const kind = lstatSync(path, { throwIfNoEntry: false });
  if (kind === undefined) return [];
  return kind.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** Folders of the request as arguments of bwrap. */
export function folderMounts(request: MountRequest): string[] {
  const program = mountsOf(programFolders(request), 'read-only', request);
  const sorted = layOut(request, program, systemFolders());
  const covered = sorted.filter(({ kind, source }) => kind === 'hidden' && isFolder(source));
  return [
    ...sorted.flatMap(mountArguments),
    // Only now, as folders of the request may lie in what is covered.
    ...covered.flatMap(({ target }) => ['--remount-ro', target]),
  ];
}

type Folders = Pick<MountRequest, 'cwd' | 'writable' | 'readOnly' | 'hidden' | 'roots'>;

/** Hidden paths that were covered once, by their real names; as many as settings name. */
const onceCovered = new Set<string>();

/** What is shown and what covers it; deeper mounts come later and so cover what lies above them. */
export function layOut(
  request: Folders,
  program: ReadonlyMap<string, Mount> = new Map(),
  system: readonly Pick<Mount, 'source' | 'target'>[] = [],
): Mount[] {
  for (const folder of [request.cwd, ...request.writable])
    if (realPath(folder) === undefined) throw new Error(`${folder} does not exist.`);
  refuseWayOut(request.cwd, request);
  const named = new Map([
    ...mountsOf(request.readOnly, 'read-only', request),
    ...mountsOf(request.writable, 'writable', request),
  ]);
  const mounts = new Map([...program, ...named]);
  const covers = coversOf(request.hidden, [...system, ...mounts.values()]);
  refuseMoved([...mounts.values()]);
  for (const cover of covers) if (!named.has(cover.target)) mounts.set(cover.target, cover);
  for (const { source, target } of covers) {
    pinParents(target, mounts);
    onceCovered.add(source);
  }
  return [...mounts.values()].sort((a, b) => depth(a.target) - depth(b.target));
}

/** Throws where a program may have moved something hidden: by its new name nobody would know it. */
function refuseMoved(mounts: readonly Mount[]): void {
  for (const secret of onceCovered)
    if (!exists(dirname(secret)) && mounts.some(({ source }) => isInside(secret, source)))
      throw new Error(
        `${secret} is hidden from programs, but its folder is gone, and a program may have moved it. Put it back, or restart the service if you removed it.`,
      );
}

export interface Mount {
  kind: 'read-only' | 'writable' | 'hidden';
  source: string;
  target: string;
}

/** By target: the folder itself, and the path by which it was named where that leads through links. */
function mountsOf(
  folders: readonly string[],
  kind: Mount['kind'],
  request: Pick<MountRequest, 'roots' | 'hidden'>,
): Map<string, Mount> {
  const mounts = new Map<string, Mount>();
  for (const folder of folders) {
    const source = realPath(folder);
    if (source === undefined) continue;
    refuseWayOut(folder, request);
    for (const target of [source, resolve(folder)]) mounts.set(target, { kind, source, target });
  }
  return mounts;
}

/** Throws for a path whose links lead out of a folder that programs may change, or into one that is hidden. */
function refuseWayOut(path: string, { roots, hidden }: Pick<MountRequest, 'roots' | 'hidden'>): void {
  const named = resolve(path);
  const real = realPath(path);
  if (real === undefined) return;
  for (const root of roots) {
    const realRoot = realPath(root);
    if (realRoot === undefined || isInside(real, realRoot)) continue;
    if (isInside(named, resolve(root)) || isInside(named, realRoot))
      throw new Error(
        `${path} leads to ${real}, out of ${root}, where programs may have planted a link. Remove the link, or name ${real} itself.`,
      );
  }
  for (const folder of hidden) {
    const realFolder = realPath(folder);
    if (realFolder === undefined || named === real || !isInside(real, realFolder)) continue;
    if (real !== resolve(realFolder, relative(resolve(folder), named)))
      throw new Error(
        `${path} leads to ${real}, which the sandbox hides. Remove the link, or name ${real} itself.`,
      );
  }
}

/** One cover for each path by which a mount shows something hidden. */
function coversOf(hidden: readonly string[], visible: readonly Pick<Mount, 'source' | 'target'>[]): Mount[] {
  return hidden.flatMap((path) => {
    const secret = realPath(path);
    if (secret === undefined) return [];
    return visible
      .filter(({ source }) => isInside(secret, source))
      .map(({ source, target }) => ({
        kind: 'hidden' as const,
        source: secret,
        target: resolve(target, relative(source, secret)),
      }));
  });
}

/** Those that are no links; what a link shows lies in another of them. */
function systemFolders(): { source: string; target: string }[] {
  return [...SYSTEM, ...ETC.map((name) => `/etc/${name}`)]
    .filter((path) => realPath(path) === path)
    .map((path) => ({ source: path, target: path }));
}

/** Makes folders above a cover mount points: a program that could rename them would uncover it at the next start. */
function pinParents(cover: string, mounts: Map<string, Mount>): void {
  const unpinned: string[] = [];
  for (let at = dirname(cover); at !== '/'; at = dirname(at)) {
    const mount = mounts.get(at);
    if (mount === undefined) unpinned.push(at);
    else {
      if (mount.kind === 'writable')
        for (const target of unpinned)
          mounts.set(target, { kind: 'writable', source: join(mount.source, relative(at, target)), target });
      unpinned.length = 0;
    }
  }
}

function mountArguments({ kind, source, target }: Mount): string[] {
  if (kind === 'read-only') return ['--ro-bind', source, target];
  if (kind === 'writable') return ['--bind', source, target];
  return isFolder(source)
    ? ['--perms', '0500', '--size', '4096', '--tmpfs', target]
    : ['--ro-bind', '/dev/null', target];
}

/** What the program itself consists of: its file, the folders of PATH, and the files that its arguments name. */
function programFolders(request: MountRequest): string[] {
  const { command, args, cwd, path } = request;
  const files = [command, ...args].flatMap((text) => {
    const file = resolve(cwd, text);
    const real = realPath(file);
    // A word such as `server` may be the name of a folder here by chance; a path is meant.
    if (real === undefined || (!isAbsolute(text) && isFolder(real))) return [];
    if (!isSystem(real)) refuseWayOut(file, request);
    return [file, real];
  });
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && isFolder(folder));
  const found = [...files.flatMap((file) => folderOfFile(file) ?? []), ...folders.flatMap(foldersOfPath)];
  return [...new Set(found)];
}

/** Of a folder of PATH only what its programs need: the project around it may hold tokens (.npmrc, .git/config). */
function foldersOfPath(folder: string): string[] {
  if (isSystem(folder)) return [];
  const parts = folder.split(sep);
  const packages = parts.lastIndexOf('node_modules');
  if (packages > 0) return [parts.slice(0, packages + 1).join(sep)];
  const prefix = dirname(folder);
  if (basename(folder) !== 'bin' || isTooWide(prefix)) return isTooWide(folder) ? [] : [folder];
  const isProject = ['package.json', '.git'].some((name) => exists(join(prefix, name)));
  const isPrefix = exists(join(prefix, 'pyvenv.cfg')) || (exists(join(prefix, 'lib')) && !isProject);
  return isPrefix ? [prefix] : [folder, join(prefix, 'lib')];
}

/** A file is shown with its project, so that it finds what it imports; a folder that is named is shown itself. */
function folderOfFile(file: string): string | undefined {
  if (isSystem(file)) return undefined;
  if (isFolder(file)) return isTooWide(file) ? undefined : file;
  const folder = dirname(file);
  if (basename(folder) === 'bin') return folderOfPrograms(folder) ?? file;
  return projectOf(folder) ?? (isTooWide(folder) ? file : folder);
}

/** The outermost folder above that looks like a project: in a monorepo the packages lie at its root. */
function projectOf(folder: string): string | undefined {
  let found: string | undefined;
  for (let at = folder; !isTooWide(at); at = dirname(at))
    if (PROJECT_MARKS.some((mark) => exists(join(at, mark)))) found = at;
  return found;
}

/** `<prefix>/bin` needs `<prefix>/lib` beside it, as under nvm or in a virtual environment. */
function folderOfPrograms(folder: string): string | undefined {
  if (isSystem(folder)) return undefined;
  const prefix = dirname(folder);
  const isPrefix = ['lib', 'pyvenv.cfg', 'package.json'].some((name) => exists(join(prefix, name)));
  if (basename(folder) === 'bin' && isPrefix && !isTooWide(prefix)) return projectOf(prefix) ?? prefix;
  return isTooWide(folder) ? undefined : (projectOf(folder) ?? folder);
}

function isTooWide(folder: string): boolean {
  const home = homedir();
  return TOO_WIDE.includes(folder) || isInside(home, folder) || folder === join(home, '.local');
}

function isSystem(path: string): boolean {
  return SYSTEM.some((folder) => isInside(path, folder));
}

/** Whether a path is a folder or lies below it. */
function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The file that a command names, as execvp would find it. */
export function findProgram(command: string, path: string, cwd: string): string | undefined {
  const candidates = command.includes('/')
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter(Boolean)
        .map((folder) => join(resolve(cwd, folder), command));
  return candidates.find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Undefined for what does not exist or may not be looked at. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function depth(path: string): number {
  return path === '/' ? 0 : path.split('/').length;
}

/** The home that a program with a name keeps from start to start. */
export function homeOf(
  { name, kind }: { name?: string; kind?: string },
  homes: string | undefined,
): [string] | undefined {
  if (name === undefined || homes === undefined) return undefined;
  const cleaned = name.replace(/[^\w-]/g, '_').slice(0, 100);
  // Cleaned names have no dot, so neither part can be mistaken for a name.
  const hash = cleaned === name ? '' : `.${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
  const home = join(homes, `${kind === undefined ? '' : `${kind}.`}${cleaned}${hash}`);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return [home];
}

export function isVisible(path: string | undefined, writable: readonly string[]): path is string {
  return path !== undefined && writable.some((folder) => isInside(path, folder));
}
