import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import {
  actsForItself,
  anonymous,
  joinOrigins,
  type Origin,
  ownerKey,
  type Principal,
  parseOrigins,
} from '@trunkline/identity';
import type { RunningTool, Tool } from '@trunkline/llm';
import { type Database, SharedDatabase } from '@trunkline/storage';
import { filesBelow } from '../approval/approved-tool.ts';

const MOST_MARKS = 100_000;
/** Beyond the bound, this many of the oldest marks become marks of the folder around. */
const MERGED = 1000;
/** A folder in which a program changed more than this is marked as a whole. */
const MOST_IN_FOLDER = 200;
/** The kind of an origin that is somebody's writing. Not `file`, whose source is the name of a file, which anybody can choose. */
const AUTHOR = 'file-author';
const migrations = [
  'CREATE TABLE marks (path TEXT PRIMARY KEY, origins TEXT NOT NULL, at INTEGER NOT NULL) STRICT',
];

interface Mark {
  /** Of a file, or of a folder with a slash at its end: then it counts for all below that has no mark of its own. */
  path: string;
  /** None for a file below a marked folder that is the operator's own again. */
  origins: readonly Origin[];
}

interface FileMarksOptions {
  /** Somebody with the owners whose things are theirs too. */
  viewer?: (principal: Principal) => Principal;
  most?: number;
}

/**
 * Which files were written from text that the operator does not vouch for, by file tools or by a program, and by whom
 * else than the operator: `file-marks.db` in TRUNKLINE_HOME. The mark goes when a turn of the operator that has read none
 * writes the file whole. A directory that such a write made has a mark for its name, which does not count for what is in it.
 */
export class FileMarks {
  readonly #file: SharedDatabase;
  readonly #viewer: (principal: Principal) => Principal;
  readonly #most: number;

  constructor(home: string, { viewer = (principal) => principal, most = MOST_MARKS }: FileMarksOptions = {}) {
    this.#file = new SharedDatabase(join(home, 'file-marks.db'), migrations);
    this.#viewer = viewer;
    this.#most = most;
  }

  /** What a file that somebody writes is drawn from: what their turn has read, and they themselves. */
  written(principal: Principal = anonymous): readonly Origin[] {
    return joinOrigins(principal.origins, this.#author(principal));
  }

  /** The same for a file that they replace. Nobody but the operator takes away a mark of what others wrote. */
  replaced(principal: Principal = anonymous, before: readonly Origin[]): readonly Origin[] {
    const isOperator = this.#author(principal).length === 0;
    const isOwn = isAuthored(before) && !isAuthored(this.readBy(principal, before));
    return joinOrigins(isOperator || isOwn ? [] : before, this.written(principal));
  }

  /** The origins without somebody's own writing. */
  readBy(principal: Principal = anonymous, origins: readonly Origin[]): readonly Origin[] {
    const reader = this.#viewer(principal);
    const own = [ownerKey(reader), ...(reader.aliases ?? [])];
    return origins.filter(({ kind, source }) => kind !== AUTHOR || !own.includes(source));
  }

  /** The operator is no origin, nor is a service or a schedule that acts for itself: the operator set it up. */
  #author(principal: Principal): readonly Origin[] {
    const writer = this.#viewer(principal);
    const isTrusted = writer.kind === 'operator' || actsForItself(writer);
    return isTrusted ? [] : [{ kind: AUTHOR, source: ownerKey(writer) }];
  }

  originsOf(path: string): readonly Origin[] {
    return this.#nearest([path, ...foldersOf(path)]);
  }

  /** The marks below a directory. */
  below(directory: string): Mark[] {
    if (!this.#file.exists) return [];
    const sql = "SELECT path, origins FROM marks WHERE path > ?1 || '/' AND path < ?1 || '0'";
    const rows = this.#file.open().prepare<Row>(sql).all(directory);
    // Many marks share few origins.
    const known = new Map<string, readonly Origin[]>();
    return rows.map((row) => {
      const origins = known.get(row.origins) ?? toMark(row).origins;
      known.set(row.origins, origins);
      return { path: row.path, origins };
    });
  }

  set(path: string, origins: readonly Origin[]): void {
    if (origins.length > 0 || this.#nearest(foldersOf(path)).length > 0) this.#write([{ path, origins }]);
    else if (this.#file.exists) this.#file.open().prepare('DELETE FROM marks WHERE path = ?').run(path);
  }

  /** Marks files, or folders with a slash at their end, that came from these origins as well. */
  add(paths: readonly string[], origins: readonly Origin[]): void {
    this.#write(paths.map((path) => ({ path, origins: joinOrigins(this.originsOf(path), origins) })));
  }

  #nearest(paths: readonly string[]): readonly Origin[] {
    return this.#file.exists && paths.length > 0 ? nearestIn(this.#file.open(), paths) : [];
  }

  #write(marks: readonly Mark[]): void {
    if (marks.length === 0) return;
    const database = this.#file.open();
    database.transaction(() => {
      for (const mark of marks) put(database, mark);
      // Files first: a folder that is marked for another one's sake marks too much.
      for (const kind of ["path NOT LIKE '%/'", "path LIKE '%/'"])
        if (countOf(database) > this.#most) mergeOldest(database, kind);
    });
  }
}

const isAuthored = (origins: readonly Origin[]) => origins.some(({ kind }) => kind === AUTHOR);

type Row = { path: string; origins: string };

const toMark = ({ path, origins }: Row): Mark => ({ path, origins: parseOrigins(JSON.parse(origins)) ?? [] });

function countOf(database: Database): number {
  return database.prepare<{ count: number }>('SELECT COUNT(*) AS count FROM marks').get()?.count ?? 0;
}

function nearestIn(database: Database, paths: readonly string[]): readonly Origin[] {
  const sql = `SELECT path, origins FROM marks WHERE path IN (SELECT value FROM json_each(?))
    ORDER BY length(path) DESC LIMIT 1`;
  const row = database.prepare<Row>(sql).get(JSON.stringify(paths));
  return row === undefined ? [] : toMark(row).origins;
}

/** A mark of a folder takes in those below it. */
function put(database: Database, { path, origins }: Mark): void {
  const below = "path > ?1 AND path < substr(?1, 1, length(?1) - 1) || '0'";
  const isFolder = path.endsWith('/');
  const inside = isFolder
    ? database.prepare<Row>(`SELECT path, origins FROM marks WHERE ${below}`).all(path)
    : [];
  if (inside.length > 0) database.prepare(`DELETE FROM marks WHERE ${below}`).run(path);
  const all = joinOrigins(origins, ...inside.map((row) => toMark(row).origins));
  database
    .prepare('INSERT OR REPLACE INTO marks (path, origins, at) VALUES (?, ?, ?)')
    .run(path, JSON.stringify(all), Date.now());
}

/** No mark is ever dropped for want of room: what was marked first is marked by its folder from then on. */
function mergeOldest(database: Database, kind: string): void {
  const folders = new Map<string, readonly Origin[]>();
  const rows = database
    .prepare<Row>(`SELECT path, origins FROM marks WHERE ${kind} ORDER BY at, path LIMIT ?`)
    .all(MERGED)
    .map(toMark);
  for (const { path, origins } of rows) {
    const [folder = path] = foldersOf(path);
    folders.set(folder, joinOrigins(folders.get(folder), origins));
  }
  // The deepest first, so that each folder takes in those within it.
  for (const [path, origins] of [...folders].sort(([one], [other]) => other.length - one.length)) {
    const known = nearestIn(database, [path, ...foldersOf(path)]);
    put(database, { path, origins: joinOrigins(known, origins) });
  }
}

/** The folders around a path, the nearest first. */
function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.lastIndexOf('/', path.length - 2); at >= 0; at = path.lastIndexOf('/', at - 1)) {
    folders.push(path.slice(0, at + 1));
    if (at === 0) break;
  }
  return folders;
}

interface MarkedWork {
  directory: string;
  marks: FileMarks | undefined;
  /** For whom it is done, with what the turn has read. */
  principal: Principal | undefined;
  /** What else the work was drawn from. */
  fetched?: readonly Origin[];
}

/** Does work that may change any file of a directory, such as a command, and marks those that it changed. */
export async function markChanges<Result>(
  { directory, marks, principal, fetched }: MarkedWork,
  work: () => Promise<Result>,
): Promise<Result> {
  const origins = joinOrigins(marks?.written(principal), fetched);
  if (marks === undefined || origins.length === 0) return await work();
  const before = await filesBelow(directory);
  try {
    return await work();
  } finally {
    const after = await filesBelow(directory);
    const changed = [...after.files.keys()].filter(
      (path) => after.files.get(path) !== before.files.get(path),
    );
    const known = new Set([...before.files.keys()].flatMap(namesOf));
    const made = new Set(changed.flatMap(namesOf).filter((name) => !known.has(name)));
    const root = `${rootOf(directory)}/`;
    // What lies beyond the bound of the list may have changed as well.
    const isWhole = after.isCut || before.isCut;
    marks.add(
      isWhole ? [root] : summarised([...new Set([...changed, ...made])]).map((path) => root + path),
      origins,
    );
  }
}

/** The paths, with one entry for a folder that would have more than MOST_IN_FOLDER: it ends in a slash, or is empty. */
function summarised(paths: readonly string[]): string[] {
  const inFolder = new Map<string, string[]>();
  const byDepth: string[][] = [];
  const outerOf = (path: string) => path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);
  const entriesOf = (folder: string) => {
    const known = inFolder.get(folder);
    if (known !== undefined) return known;
    const depth = folder.split('/').length;
    const folders = byDepth[depth] ?? [];
    folders.push(folder);
    byDepth[depth] = folders;
    const entries: string[] = [];
    inFolder.set(folder, entries);
    return entries;
  };
  for (const path of paths) entriesOf(outerOf(path)).push(path);
  for (let depth = byDepth.length - 1; depth > 1; depth -= 1)
    for (const folder of byDepth[depth] ?? []) {
      const entries = entriesOf(folder);
      const outer = entriesOf(outerOf(folder));
      for (const entry of entries.length > MOST_IN_FOLDER ? [folder] : entries) outer.push(entry);
    }
  const top = inFolder.get('') ?? [];
  return top.length > MOST_IN_FOLDER ? [''] : top;
}

/** A path below a directory and the directories on its way: `a`, `a/b`, `a/b/c.md`. */
function namesOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** The directories that a write to a path will make. */
function missingAround(path: string): string[] {
  const folder = dirname(path);
  return folder === path || existsSync(folder) ? [] : [folder, ...missingAround(folder)];
}

export function rootOf(directory: string): string {
  return existsSync(directory) ? realpathSync(directory) : directory;
}

/** The file tools of a directory, whose content stays marked from one turn to the next. */
export function withFileMarks(tools: readonly Tool[], directory: string, marks: FileMarks): Tool[] {
  const placeOf = (tool: Tool, input: unknown) => join(rootOf(directory), tool.subject?.(input).path ?? '.');
  return tools.map((tool) => (isRunning(tool) ? { ...tool, execute: executeOf(tool) } : tool));

  function executeOf(tool: RunningTool): RunningTool['execute'] {
    const { name, execute } = tool;
    if (name === 'write_file' || name === 'edit_file')
      return async (input, context) => {
        const path = placeOf(tool, input);
        const [before, own] = [marks.originsOf(path), marks.written(context.principal)];
        const both = joinOrigins(before, own);
        if (both.length === 0) return await execute(input, context);
        // Before the text is there: nobody may read it unmarked.
        const made = own.length > 0 ? missingAround(path) : [];
        for (const folder of made) marks.set(folder, own);
        marks.set(path, both);
        const result = await execute(input, context);
        const isFailed = String(result).startsWith('Error:');
        if (isFailed) for (const folder of made) marks.set(folder, []);
        if (isFailed) marks.set(path, before);
        else if (name === 'write_file') marks.set(path, marks.replaced(context.principal, before));
        return result;
      };
    if (name === 'read_file')
      return async (input, context) => {
        const origins = marks.originsOf(placeOf(tool, input));
        context.addOrigins?.(marks.readBy(context.principal, origins));
        return await execute(input, context);
      };
    const shown = shownBy[name];
    if (shown === undefined) return execute;
    return async (input, context) => {
      const result = await execute(input, context);
      const origins = originsIn(String(result), shown, placeOf(tool, input), input);
      context.addOrigins?.(marks.readBy(context.principal, origins));
      return result;
    };
  }

  /** Of the files that a result names, and of the names of the directories on the way to them. */
  function originsIn(text: string, shown: Shown, place: string, input: unknown): readonly Origin[] {
    const lines = text.split('\n');
    const names = new Set(lines.flatMap((line) => shown(line, input).flatMap(namesOf)));
    // A name of several lines.
    const broken = marks.below(place).filter(({ path }) => {
      const name = path.slice(place.length + 1);
      return name.includes('\n') && text.includes(name);
    });
    return joinOrigins(
      ...[...names].map((name) => marks.originsOf(join(place, name))),
      ...broken.map(({ origins }) => origins),
    );
  }
}

/** The paths that a line of a result may name, below the directory that was looked through. */
type Shown = (line: string, input: unknown) => string[];

const shownBy: Record<string, Shown> = {
  list_dir: (line) => [line.replace(/\/$/, '')],
  find_files: (line, input) => [belowGiven(line, input)],
  // `notes/a.md:12: words`. A name may look so itself, so each reading of the line counts.
  search_files: (line, input) =>
    [...line.matchAll(/:\d+: /g)].map(({ index }) => belowGiven(line.slice(0, index), input)),
};

function belowGiven(path: string, input: unknown): string {
  const { path: given = '.' } = input as { path?: string };
  return posix.relative(given, path);
}

function isRunning(tool: Tool): tool is RunningTool {
  return 'execute' in tool && tool.execute !== undefined;
}
