import { existsSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { joinOrigins, type Origin, parseOrigins } from '@trunkline/identity';
import type { RunningTool, Tool } from '@trunkline/llm';
import { SharedDatabase } from '@trunkline/storage';

const MOST_MARKS = 100_000;
const migrations = [
  'CREATE TABLE marks (path TEXT PRIMARY KEY, origins TEXT NOT NULL, at INTEGER NOT NULL) STRICT',
];

/**
 * Which files were written from text that the operator does not vouch for: `file-marks.db` in TRUNKLINE_HOME. The mark
 * goes when a turn that has read none writes the file whole.
 */
export class FileMarks {
  readonly #file: SharedDatabase;

  constructor(home: string) {
    this.#file = new SharedDatabase(join(home, 'file-marks.db'), migrations);
  }

  originsOf(path: string): readonly Origin[] {
    if (!this.#file.exists) return [];
    const sql = 'SELECT origins FROM marks WHERE path = ?';
    const row = this.#file.open().prepare<{ origins: string }>(sql).get(path);
    return row === undefined ? [] : (parseOrigins(JSON.parse(row.origins)) ?? []);
  }

  /** The marked files below a directory, with their names. */
  below(directory: string): { name: string; origins: readonly Origin[] }[] {
    if (!this.#file.exists) return [];
    return this.#file
      .open()
      .prepare<{ path: string; origins: string }>(
        "SELECT path, origins FROM marks WHERE path >= ?1 || '/' AND path < ?1 || '0'",
      )
      .all(directory)
      .map(({ path, origins }) => ({
        name: basename(path),
        origins: parseOrigins(JSON.parse(origins)) ?? [],
      }));
  }

  set(path: string, origins: readonly Origin[]): void {
    if (origins.length === 0 && !this.#file.exists) return;
    const database = this.#file.open();
    if (origins.length === 0) return void database.prepare('DELETE FROM marks WHERE path = ?').run(path);
    database
      .prepare('INSERT OR REPLACE INTO marks (path, origins, at) VALUES (?, ?, ?)')
      .run(path, JSON.stringify(origins), Date.now());
    database
      .prepare('DELETE FROM marks WHERE path IN (SELECT path FROM marks ORDER BY at DESC LIMIT -1 OFFSET ?)')
      .run(MOST_MARKS);
  }
}

/** The file tools of a directory, whose content stays marked from one turn to the next. */
export function withFileMarks(tools: readonly Tool[], directory: string, marks: FileMarks): Tool[] {
  const placeOf = (tool: Tool, input: unknown) => {
    const root = existsSync(directory) ? realpathSync(directory) : directory;
    return join(root, tool.subject?.(input).path ?? '.');
  };
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
        const hit = marks.below(placeOf(tool, input)).filter(({ name }) => isHit(name));
        context.addOrigins?.(joinOrigins(...hit.map(({ origins }) => origins)));
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
