import { createHash } from 'node:crypto';
import { constants, createReadStream, existsSync } from 'node:fs';
import { access, glob, open, realpath, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemCode } from '@trunkline/std';

/** A file that a command runs, as it was when somebody looked. */
export interface ScriptFile {
  path: string;
  /** Of what it holds, in hex. */
  sha256: string;
}

const LARGEST_BYTES = 64 * 1024 * 1024;
const DEEPEST = 4;
const MOST_NAMES = 200;
const MOST_PLACES = 20;

/** Programs that run any file they are given. */
const RUNNERS =
  /^(?:(?:ba|da|z|k|a)?sh|busybox|node|nodejs|deno|bun|tsx|ts-node|npx|python[\d.]*|perl|ruby|php|lua|Rscript|java|make|gmake|awk|gawk|sed|env|sudo|doas|nice|nohup|setsid|timeout|time|xargs|command|exec|eval|source|\.|find|parallel|watch|docker|cmake|ninja|ansible-playbook)$/;
const CODE =
  /\.(?:sh|bash|zsh|[cm]?[jt]sx?|py|rb|pl|php|lua|r|jl|awk|sed|mk|sql|ps1|bat|jar|gradle)$|^(?:Make|Docker|Rake|Just)file$/i;
/** Programs that run another one, their options, and what those are given. */
const WRAPPERS = /^(?:sudo|doas|env|nice|nohup|setsid|timeout|time|command|exec|-.*|\w+=.*|[\d.]+[smhd]?)$/;
const RECURSIVE = /^(?:-[a-zA-Z]*[rR]|--(?:dereference-)?recursive)/;
/** What these programs run without naming it. */
const UNNAMED: readonly [RegExp, readonly string[]][] = [
  [/^(?:npm|npx|pnpm|yarn|bun)$/, ['package.json']],
  [/^g?make$/, ['Makefile', 'makefile', 'GNUmakefile']],
  [/^just$/, ['justfile', 'Justfile']],
];

/**
 * The scripts that a shell command names, with their hashes: programs by path, what interpreters are given, and
 * arguments that are code. What those load in turn cannot be seen from here.
 */
export async function scriptFiles(command: string, directory: string): Promise<ScriptFile[]> {
  const paths = new Set<string>();
  const places = [directory];
  for (const [program = '', ...words] of segmentsOf(command)) {
    if (program === 'cd' && words[0] !== undefined)
      places.push(resolve(places.at(-1) ?? directory, words[0]));
    const isRunner = RUNNERS.test(basename(program));
    const candidates = (
      await Promise.all(words.flatMap(valuesOf).map((word) => expanded(word, places)))
    ).flat();
    const unnamed = UNNAMED.flatMap(([name, files]) => (name.test(basename(program)) ? files : []));
    for (const place of places) {
      for (const word of [...unnamed, ...(program.includes('/') ? [program] : [])])
        paths.add(resolve(place, word));
      for (const word of candidates.flatMap((each) => (isRunner ? completed(each) : [each]))) {
        const path = resolve(place, word);
        if (!paths.has(path) && (await isScript(path, isRunner))) paths.add(path);
      }
    }
  }
  const files: ScriptFile[] = [];
  for (const path of [...paths].sort()) {
    const sha256 = await hashOf(path);
    if (sha256 !== undefined) files.push({ path, sha256 });
  }
  return files;
}

/** The words of a shell command, with the directories that it goes to. Where it may read all files there, `.` is one of the words. */
export function commandWords(
  command: string,
  directory: string,
): { words: ReadonlySet<string>; places: ReadonlySet<string> } {
  const segments = segmentsOf(command);
  const places = [directory];
  for (const [program, target] of segments)
    if (program === 'cd' && target !== undefined) places.push(resolve(places.at(-1) ?? directory, target));
  // The workspace is the home of a command.
  const words = segments.flat().map((word) => word.replace(/^(?:~|\$HOME|\$PWD)(?=\/|$)/, directory));
  const usesNames = /\$\(|`|\bread\b/.test(command);
  const readsAll = segments.some((segment) => readsFolder(segment, places, usesNames));
  return {
    words: new Set([...words.flatMap(valuesOf), ...(readsAll ? ['.'] : [])]),
    places: new Set(places),
  };
}

/**
 * Whether a simple command may read any file of the directory that it runs in without naming one, or give the names of
 * all to one that reads them (`usesNames`).
 */
function readsFolder(segment: readonly string[], places: readonly string[], usesNames: boolean): boolean {
  const start = segment.findIndex((word) => !WRAPPERS.test(basename(word)));
  const [program = '', ...words] = segment.slice(start);
  const isThere = (word: string) =>
    places.slice(0, MOST_PLACES).some((place) => existsSync(resolve(place, word)));
  // The first is what to look for; the value of an option is hardly the name of a file.
  const namesPlace = () =>
    words
      .filter((word) => !word.startsWith('-'))
      .slice(1)
      .some(isThere);
  switch (basename(program)) {
    case 'git':
    case 'xargs':
    case 'parallel':
      return true;
    case 'ls':
    case 'tree':
      return usesNames;
    case 'find':
      return words[0] === undefined || !isThere(words[0]);
    case 'grep':
    case 'egrep':
    case 'fgrep':
      return words.some((word) => RECURSIVE.test(word)) && !namesPlace();
    case 'rg':
    case 'ag':
    case 'ack':
    case 'rgrep':
      return !namesPlace();
    default:
      return false;
  }
}

/** The names that a pattern stands for now. */
async function expanded(word: string, places: readonly string[]): Promise<string[]> {
  if (!/[*?[]/.test(word)) return [word];
  const found: string[] = [word];
  for (const cwd of places)
    for await (const name of glob(word, { cwd })) {
      if (found.length > MOST_NAMES) return found;
      found.push(resolve(cwd, name));
    }
  return found;
}

/** Interpreters look for these where the name itself is not there. */
function completed(word: string): string[] {
  return [
    word,
    ...['.js', '.mjs', '.cjs', '.ts', '.py', '/index.js', '/__main__.py'].map((end) => word + end),
  ];
}

/** `--config=x` and `@x` name x. */
function valuesOf(word: string): string[] {
  return [...new Set([word, word.replace(/^@/, ''), word.slice(word.indexOf('=') + 1)])].filter(
    (value) => value !== '' && value.length < 4096,
  );
}

async function isScript(path: string, isRun: boolean): Promise<boolean> {
  const found = await fileAt(path);
  if (found === undefined) return false;
  return isRun || (found.mode & 0o111) !== 0 || CODE.test(basename(path)) || (await hasInterpreter(path));
}

async function hasInterpreter(path: string): Promise<boolean> {
  if (!(await isReadable(path))) return true;
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString('latin1') === '#!';
  } finally {
    await file.close();
  }
}

async function fileAt(path: string) {
  try {
    const found = await stat(path);
    return found.isFile() ? found : undefined;
  } catch (error) {
    if (/^(?:ENOENT|ENOTDIR|EACCES|ELOOP|ENAMETOOLONG|ERR_INVALID_ARG_VALUE)$/.test(systemCode(error) ?? ''))
      return undefined;
    throw error;
  }
}

/** Undefined where there is no file. The place that a link leads to counts too. */
async function hashOf(path: string): Promise<string | undefined> {
  const found = await fileAt(path);
  if (found === undefined) return undefined;
  const hash = createHash('sha256').update(`${await realpath(path)}\0`);
  // For a file that is large or unreadable, its change time replaces its content.
  if (found.size > LARGEST_BYTES || !(await isReadable(path)))
    return hash.update(`${found.size} ${found.ctimeMs} ${found.ino}`).digest('hex');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function isReadable(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}

/** The simple commands of a command line, each as its program and its words; quoted text is read once more as one. */
function segmentsOf(command: string, depth = 0): string[][] {
  const segments: string[][] = [[]];
  const quoted: string[] = [];
  let wordEnd = -1;
  for (const { 0: piece, 1: single, 2: double, 3: bare, index } of command.matchAll(TOKEN)) {
    const text = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? bare?.replace(/\\(.)/gs, '$1');
    const words = segments.at(-1) ?? [];
    if (text === undefined) segments.push([]);
    // Pieces that touch are one word, whatever quotes part them.
    else if (index === wordEnd) words.push(`${words.pop()}${text}`);
    else words.push(text);
    wordEnd = text === undefined ? -1 : index + piece.length;
    if (text !== undefined && bare === undefined && /[\s;|&`(]/.test(text)) quoted.push(text);
  }
  const plain = segments.flatMap(simpleCommands);
  return depth >= DEEPEST ? plain : [...plain, ...quoted.flatMap((text) => segmentsOf(text, depth + 1))];
}

/** A quoted text, a bare word, or whatever ends a simple command. */
const TOKEN = /'([^']*)'|"((?:[^"\\]|\\.)*)"|((?:[^\s'"`;|&(){}<>\\]|\\.)+)|[;|&()`{}\n]/gs;

/** `NAME=value program` runs the program, `if program` too; a value may be the name of a script for later. */
function simpleCommands(words: string[]): string[][] {
  const start = words.findIndex(
    (word) => !/^\w+=|^(?:!|if|then|elif|else|fi|while|until|do|done|\$)$/.test(word),
  );
  const values = words.slice(0, start === -1 ? undefined : start).filter((word) => /^\w+=./.test(word));
  const assigned = values.map((word) => ['sh', word.slice(word.indexOf('=') + 1)]);
  return start === -1 ? assigned : [...assigned, words.slice(start)];
}
