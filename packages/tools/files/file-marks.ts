import { existsSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { joinOrigins, type Origin, parseOrigins } from '@trunkline/identity';
import type { RunningTool, Tool } from '@trunkline/llm';
import { type Database, SharedDatabase } from '@trunkline/storage';
import { filesBelow } from '../approval/approved-tool.ts';

const MOST_MARKS = 100_000;
/** Beyond the bound, this many of the oldest marks become marks of the folder around. */
const MERGED = 1000;
/** A folder in which a program changed more than this is marked as a whole. */
const MOST_IN_FOLDER = 200;
const migrations = [
  'CREATE TABLE marks (path TEXT PRIMARY KEY, origins TEXT NOT NULL, at INTEGER NOT NULL) STRICT',
];

interface Mark {
  /** Of a file, or of a folder with a slash at its end: then it counts for all below that has no mark of its own. */
  path: string;
  /** None for a file below a marked folder that is the operator's own again. */
  origins: readonly Origin[];
}

/**
 * Which files were written from text that the operator does not vouch for, by file tools or by a program:
 * `file-marks.db` in TRUNKLINE_HOME. The mark goes when a turn that has read none writes the file whole.
 */
export class FileMarks {
  readonly #file: SharedDatabase;
  readonly #most: number;

  constructor(home: string, most = MOST_MARKS) {
    this.#file = new SharedDatabase(join(home, 'file-marks.db'), migrations);
    this.#most = most;
  }

  originsOf(path: string): readonly Origin[] {
    return this.#nearest([path, ...foldersOf(path)]);
  }

  /** The marks below a path, and those of the file or directory itself. */
  below(directory: string): { inside: Mark[]; whole: readonly Origin[] } {
    const whole = joinOrigins(this.originsOf(directory), this.#nearest(foldersOf(`${directory}/x`)));
    if (!this.#file.exists) return { inside: [], whole };
    const sql = "SELECT path, origins FROM marks WHERE path > ?1 || '/' AND path < ?1 || '0'";
    const rows = this.#file.open().prepare<Row>(sql).all(directory);
    return { inside: rows.map(toMark), whole };
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
  /** What the work was drawn from. */
  origins: readonly Origin[];
}

/** Does work that may change any file of a directory, such as a command, and marks those that it changed. */
export async function markChanges<Result>(
  { directory, marks, origins }: MarkedWork,
  work: () => Promise<Result>,
): Promise<Result> {
  if (marks === undefined || origins.length === 0) return await work();
  const before = await filesBelow(directory);
  try {
    return await work();
  } finally {
    const after = await filesBelow(directory);
    const changed = [...after.files.keys()].filter(
      (path) => after.files.get(path) !== before.files.get(path),
    );
    const root = `${rootOf(directory)}/`;
    // What lies beyond the bound of the list may have changed as well.
    const isWhole = after.isCut || before.isCut;
    marks.add(isWhole ? [root] : summarised(changed).map((path) => root + path), origins);
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

function rootOf(directory: string): string {
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
        const [before, own] = [marks.originsOf(path), context.principal?.origins ?? []];
        const both = joinOrigins(before, own);
        if (both.length === 0) return await execute(input, context);
        // Before the text is there: nobody may read it unmarked.
        marks.set(path, both);
        const result = await execute(input, context);
        if (String(result).startsWith('Error:')) marks.set(path, before);
        else if (name === 'write_file') marks.set(path, own);
        return result;
      };
    if (name === 'read_file')
      return async (input, context) => {
        context.addOrigins?.(marks.originsOf(placeOf(tool, input)));
        return await execute(input, context);
      };
    if (name === 'search_files')
      return async (input, context) => {
        const result = await execute(input, context);
        const text = String(result);
        const names = new Set(text.split('\n').flatMap(filesOfHit));
        const isHit = (name: string) => names.has(name) || (name.includes('\n') && text.includes(`${name}:`));
        const { inside, whole } = marks.below(placeOf(tool, input));
        const hit = inside.filter(({ path }) =>
          path.endsWith('/') ? text.includes(`${basename(path)}/`) : isHit(basename(path)),
        );
        const around = names.size > 0 ? whole : [];
        context.addOrigins?.(joinOrigins(around, ...hit.map(({ origins }) => origins)));
        return result;
      };
    return execute;
  }
}

/** `notes/a.md:12: words`. A name may look so itself, so each reading of the line counts. */
function filesOfHit(line: string): string[] {
  return [...line.matchAll(/:\d+: /g)].map(({ index }) => basename(line.slice(0, index)));
}

function isRunning(tool: Tool): tool is RunningTool {
  return 'execute' in tool && tool.execute !== undefined;
}
