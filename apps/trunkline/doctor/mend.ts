import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { knownVariables, nearest } from '@trunkline/config';
import { modelRoles } from '@trunkline/llm';
import { ensurePages } from '@trunkline/ui/build';
import { mostSlips } from '../misspelt.ts';

/** Mends what needs no decision of a person and touches no data; gives what it did, line by line. */
export async function mend(home: string, build = buildPages): Promise<string[]> {
  return [
    ...folder(home),
    ...ownerOnly(home),
    ...staleRecords(home),
    ...misspelt(join(home, 'settings.yaml'), ({ depth }) => (depth === 0 ? knownVariables() : NONE)),
    ...misspelt(join(home, 'models.yaml'), ({ depth, section }) => {
      if (depth === 0) return new Set(['roles', 'models']);
      return depth === 1 && section === 'roles' ? new Set<string>(modelRoles) : NONE;
    }),
    ...(await build()),
  ];
}

const NONE: ReadonlySet<string> = new Set();

function folder(home: string): string[] {
  if (existsSync(home)) return [];
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return [`created ${home}.`];
}

/** Files with keys, and the home itself, belong to nobody else. */
function ownerOnly(home: string): string[] {
  const names = [
    '',
    'operator-key',
    'family-secret',
    'secrets.db',
    'secrets-key',
    'settings.yaml',
    'models.yaml',
  ];
  return names.flatMap((name) => {
    const path = join(home, name);
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o077) === 0) return [];
    chmodSync(path, mode & 0o700);
    return [`took the rights of group and others from ${path} (mode was ${(mode & 0o777).toString(8)}).`];
  });
}

/** Records of processes that ended without a word. */
function staleRecords(home: string): string[] {
  const running = join(home, 'running');
  if (!existsSync(running)) return [];
  return readdirSync(running)
    .filter((name) => /^\d+\.json$/.test(name) && !isAlive(Number.parseInt(name, 10)))
    .map((name) => {
      rmSync(join(running, name), { force: true });
      return `removed ${join(running, name)}, the record of a process that is gone.`;
    });
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

/** Mends names that are not known and have one known name close by; all else in the file stays as it is. */
function misspelt(file: string, knownAt: (place: Place) => ReadonlySet<string>): string[] {
  if (!existsSync(file)) return [];
  const done: string[] = [];
  const text = readFileSync(file, 'utf8');
  let [section, indent] = ['', ''];
  const lines = text.split('\n').map((line) => {
    const [, space = '', name = ''] = /^( *)([A-Za-z_]\w*)\s*:/.exec(line) ?? [];
    if (name === '') return line;
    if (space !== '' && indent === '') indent = space;
    const known = knownAt({ depth: space === '' ? 0 : space === indent ? 1 : 2, section });
    const meant = known.size === 0 || known.has(name) ? undefined : certain(name, known);
    if (space === '') [section, indent] = [meant ?? name, ''];
    // The right name may stand there too, and then nobody knows which of the two counts.
    if (meant === undefined || new RegExp(`^ *${meant}\\s*:`, 'm').test(text)) return line;
    done.push(`renamed ${name} to ${meant} in ${file}.`);
    return line.replace(name, meant);
  });
  if (done.length > 0) writeFileSync(file, lines.join('\n'));
  return done;
}

/** The one name that is meant; undefined where two are as close. */
function certain(name: string, known: ReadonlySet<string>): string | undefined {
  const meant = nearest(name, known, mostSlips(name));
  if (meant === undefined) return undefined;
  const others = [...known].filter((other) => other !== meant);
  return nearest(name, others, mostSlips(name)) === undefined ? meant : undefined;
}

async function buildPages(): Promise<string[]> {
  const done: string[] = [];
  for (const app of ['voice', 'agent', 'research', 'switchboard'] as const)
    if ((await ensurePages({ app })).built) done.push(`built the pages of ${app}.`);
  return done;
}
