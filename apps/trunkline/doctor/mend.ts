import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { assignmentsOf, knownVariables, nearest } from '@trunkline/config';
import { modelRoles } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { ensurePages } from '@trunkline/ui/build';
import { isNoSlip, mostSlips } from '../misspelt.ts';

interface MendOptions {
  /** TRUNKLINE_HOME. */
  home: string;
  /** The `.env` file, which need not be there. */
  environmentFile: string;
  build?: () => Promise<string[]>;
  onFailure?: (words: string) => void;
}

/** Mends what needs no decision of a person and touches no data; gives what it did, line by line. */
export async function mend({
  home,
  environmentFile,
  build = buildPages,
  onFailure = () => undefined,
}: MendOptions): Promise<string[]> {
  const tried: Try = async (what, change) => {
    try {
      await change();
      return true;
    } catch (error) {
      onFailure(`could not ${what}: ${errorMessage(error)}`);
      return false;
    }
  };
  return [
    ...(await folder(home, tried)),
    ...(await ownerOnly(home, tried)),
    ...(await staleRecords(home, tried)),
    ...(await misspeltVariables(environmentFile, home, tried)),
    ...(await misspelt(join(home, 'settings.yaml'), tried, ({ depth }) =>
      depth === 0 ? knownVariables() : NONE,
    )),
    ...(await misspelt(join(home, 'models.yaml'), tried, ({ depth, section }) => {
      if (depth === 0) return new Set(['roles', 'models']);
      return depth === 1 && section === 'roles' ? new Set<string>(modelRoles) : NONE;
    })),
    ...(await build()),
  ];
}

/** Makes a change and says whether it could; what fails is told, and the rest goes on. */
type Try = (what: string, change: () => void | Promise<void>) => Promise<boolean>;

const NONE: ReadonlySet<string> = new Set();

async function folder(home: string, tried: Try): Promise<string[]> {
  if (existsSync(home)) return [];
  const isDone = await tried(`create ${home}`, () => void mkdirSync(home, { recursive: true, mode: 0o700 }));
  return isDone ? [`created ${home}.`] : [];
}

/** Files with keys, and the home itself, belong to nobody else. What a link leads to is not ours to change. */
async function ownerOnly(home: string, tried: Try): Promise<string[]> {
  const names = [
    '',
    'operator-key',
    'family-secret',
    'secrets.db',
    'secrets-key',
    'settings.yaml',
    'models.yaml',
  ];
  const done: string[] = [];
  for (const path of names.map((name) => join(home, name))) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isSymbolicLink() || (found.mode & 0o077) === 0) continue;
    const { mode } = found;
    const what = `take the rights of group and others from ${path}`;
    if (await tried(what, () => chmodSync(path, mode & 0o700)))
      done.push(`took the rights of group and others from ${path} (mode was ${(mode & 0o777).toString(8)}).`);
  }
  return done;
}

/** Records of processes that ended without a word. */
async function staleRecords(home: string, tried: Try): Promise<string[]> {
  const running = join(home, 'running');
  if (!existsSync(running)) return [];
  const stale = readdirSync(running).filter(
    (name) => /^\d+\.json$/.test(name) && !isAlive(Number.parseInt(name, 10)),
  );
  const done: string[] = [];
  for (const path of stale.map((name) => join(running, name)))
    if (await tried(`remove ${path}`, () => rmSync(path, { force: true })))
      done.push(`removed ${path}, the record of a process that is gone.`);
  return done;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Where a name of a YAML file stands. */
interface Place {
  /** 0 for names that are not indented, 1 for the first indentation below one. */
  depth: number;
  /** The name above it that is not indented. */
  section: string;
}

/** A name that is not known, in a line of a file, and the known one that is meant. */
interface Slip {
  at: number;
  name: string;
  meant: string;
}

/** Mends names of a YAML file that are not known and have one known name close by; all else in the file stays as it is. */
async function misspelt(
  file: string,
  tried: Try,
  knownAt: (place: Place) => ReadonlySet<string>,
): Promise<string[]> {
  if (!existsSync(file)) return [];
  const found: Slip[] = [];
  const text = readFileSync(file, 'utf8');
  let [section, indent] = ['', ''];
  for (const [at, line] of text.split('\n').entries()) {
    const [, space = '', name = ''] = /^( *)([A-Za-z_]\w*)\s*:/.exec(line) ?? [];
    if (name === '') continue;
    if (space !== '' && indent === '') indent = space;
    const known = knownAt({ depth: space === '' ? 0 : space === indent ? 1 : 2, section });
    const meant = known.size === 0 || known.has(name) ? undefined : certain(name, known);
    if (space === '') [section, indent] = [meant ?? name, ''];
    if (meant !== undefined) found.push({ at, name, meant });
  }
  const slips = unambiguous(found, (meant) => new RegExp(`^ *["']?${meant}["']?\\s*:`, 'm').test(text));
  return await rename({ file, text, slips }, tried);
}

/** The same in `.env`, which may be shared with other programs: a copy of the file stays in the home. */
async function misspeltVariables(file: string, home: string, tried: Try): Promise<string[]> {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  const known = knownVariables();
  const assigned = assignmentsOf(text, file);
  const found = assigned.flatMap(({ name, line: at }): Slip[] => {
    const meant = known.has(name) || isNoSlip(name) ? undefined : certain(name, known);
    return meant === undefined ? [] : [{ at, name, meant }];
  });
  const slips = unambiguous(found, (meant) => assigned.some(({ name }) => name === meant));
  const copies = join(home, `before-doctor-fix-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  const done = await rename({ file, text, slips }, tried, () => {
    mkdirSync(copies, { recursive: true, mode: 0o700 });
    copyFileSync(file, join(copies, '.env'));
  });
  return done.length === 0 ? [] : [...done, `kept ${file} as it was in ${join(copies, '.env')}.`];
}

/** The right name, or a second one that means it, may be set too, and then nobody knows which of them counts. */
function unambiguous(found: readonly Slip[], isSet: (name: string) => boolean): Slip[] {
  return found.filter(
    ({ meant }) => found.filter((other) => other.meant === meant).length === 1 && !isSet(meant),
  );
}

interface Renaming {
  file: string;
  text: string;
  slips: readonly Slip[];
}

/** The file is replaced as a whole: a full disk or a kill leaves the one that was there. */
async function rename(
  { file, text, slips }: Renaming,
  tried: Try,
  keepCopy: () => void = () => undefined,
): Promise<string[]> {
  const lines = text.split('\n');
  for (const { at, name, meant } of slips)
    lines[at] = lines[at]?.replace(new RegExp(`\\b${name}\\b`), meant) ?? '';
  const replace = async () => {
    keepCopy();
    await writeFileAtomic(file, lines.join('\n'), { over: text });
  };
  if (slips.length === 0 || !(await tried(`rename misspelt names in ${file}`, replace))) return [];
  return slips.map(({ name, meant }) => `renamed ${name} to ${meant} in ${file}.`);
}

/** A secret under another name may be meant for something else, and would be sent to the wrong service. */
const secretName = /KEY|TOKEN|SECRET|PASSWORD/i;

/** Where the data is, who may enter and what programs may do are for a person to decide, who is told of the name. */
const decision = /^TRUNKLINE_/;

/** The one name that is meant; undefined where two are as close. */
function certain(name: string, known: ReadonlySet<string>): string | undefined {
  const meant = nearest(name, known, mostSlips(name));
  if (meant === undefined || secretName.test(name) || secretName.test(meant)) return undefined;
  if (decision.test(meant)) return undefined;
  const others = [...known].filter((other) => other !== meant);
  return nearest(name, others, mostSlips(name)) === undefined ? meant : undefined;
}

async function buildPages(): Promise<string[]> {
  const done: string[] = [];
  for (const app of ['voice', 'agent', 'research', 'switchboard'] as const)
    if ((await ensurePages({ app })).built) done.push(`built the pages of ${app}.`);
  return done;
}
