import { posix } from 'node:path';
import { defineTool, type Tool, type ToolContext } from '@trunkline/llm';
import { z } from 'zod';
import { oneLine, orRefusal } from '../failure.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST_FILES = 20_000;

const UNVISITED = new Set(['.git', 'node_modules']);

const MOST_HITS = 100;
const MOST_BYTES = 1024 * 1024;
const LONGEST_LINE = 300;

const input = z.object({
  query: z.string().min(1).max(500).describe('Plain words; upper and lower case count as the same.'),
  path: z.string().default('.'),
});

export function createSearchFiles(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'search_files',
    effects: ['reads'],
    subject: ({ path }) => sandbox.subject(path),
    description: 'Searches the text files of the workspace and gives the lines that hold the words.',
    input,
    execute: ({ query, path }, { signal, permits }) =>
      orRefusal(async () => {
        const hits: string[] = [];
        for await (const file of walkFiles(sandbox, path, { signal, permits })) {
          signal.throwIfAborted();
          hits.push(...(await hitsIn(sandbox, file, query.toLowerCase())));
          if (hits.length >= MOST_HITS) break;
        }
        return hits.length === 0 ? 'No matches.' : hits.slice(0, MOST_HITS).join('\n');
      }, signal),
  });
}

async function hitsIn(sandbox: WorkspaceSandbox, file: string, query: string): Promise<string[]> {
  const content = await sandbox.read(file, MOST_BYTES).catch(nothing);
  if (content.subarray(0, 1024).includes(0)) return [];
  return content
    .toString('utf8')
    .split('\n')
    .flatMap((line, index) =>
      line.toLowerCase().includes(query) ? `${file}:${index + 1}: ${oneLine(line, LONGEST_LINE)}` : [],
    );
}

/** A file that is too large or may not be read holds no hits. */
function nothing(): Buffer {
  return Buffer.alloc(0);
}

/** Whether a path fits; made once for a pattern. */
type Glob = (path: string) => boolean;

type Step =
  | { kind: 'character'; character: string }
  /** `?`: one character of a name. */
  | { kind: 'any' }
  /** `*`: any characters of a name. */
  | { kind: 'name' }
  /** `**`: any characters. */
  | { kind: 'all' }
  /** `**` before a slash: whole directories, or none. The step behind it is the inside of one. */
  | { kind: 'directories' }
  | { kind: 'directory' };

/**
 * `*` and `?` stay within a name, `**` crosses directories; a pattern without a slash fits any directory.
 * All ways through the pattern are followed at once, so that no pattern can make a path take long.
 */
export function createGlob(glob: string): Glob {
  const whole = glob.includes('/') ? glob.replace(/^\.?\//, '') : `**/${glob}`;
  const steps = stepsOf(whole);
  const start = reachable(steps, new Set([0]));
  return (path) => {
    let places = start;
    for (const character of path.split('')) {
      if (places.size === 0) return false;
      places = reachable(steps, new Set([...places].flatMap((place) => after(steps, place, character))));
    }
    return places.has(steps.length);
  };
}

function stepsOf(glob: string): Step[] {
  return glob.split(/(\*\*\/|\*\*|\*|\?)/).flatMap((piece): Step[] => {
    if (piece === '**/') return [{ kind: 'directories' }, { kind: 'directory' }];
    if (piece === '**') return [{ kind: 'all' }];
    if (piece === '*') return [{ kind: 'name' }];
    if (piece === '?') return [{ kind: 'any' }];
    return piece.split('').map((character) => ({ kind: 'character', character }));
  });
}

/** Adds the places that follow a wildcard which matches nothing. */
function reachable(steps: readonly Step[], places: Set<number>): Set<number> {
  for (const place of places) {
    const kind = steps[place]?.kind;
    if (kind === 'name' || kind === 'all') places.add(place + 1);
    if (kind === 'directories') places.add(place + 2);
  }
  return places;
}

/** Where a character leads from a place. */
function after(steps: readonly Step[], place: number, character: string): number[] {
  const step = steps[place];
  const inName = character !== '/';
  switch (step?.kind) {
    case 'character':
      return step.character === character ? [place + 1] : [];
    case 'any':
      return inName ? [place + 1] : [];
    case 'name':
      return inName ? [place] : [];
    case 'all':
      return [place];
    case 'directories':
      return inName ? [place + 1] : [];
    case 'directory':
      return [inName ? place : place - 1];
    default:
      return [];
  }
}

/** Paths of the files below a directory, in order. Links are not followed, and what policy holds back is left out. */
export async function* walkFiles(
  sandbox: WorkspaceSandbox,
  directory: string,
  { signal, permits = () => true }: Pick<ToolContext, 'signal' | 'permits'>,
): AsyncGenerator<string> {
  const start = directory === '' ? '.' : directory;
  const { path: real } = sandbox.subject(start);
  const waiting = [start];
  let count = 0;
  for (let current = waiting.shift(); current !== undefined; current = waiting.shift()) {
    signal.throwIfAborted();
    for (const entry of await sandbox.list(current)) {
      const path = posix.join(current, entry.name);
      if (!permits({ path: posix.join(real, posix.relative(start, path)) })) continue;
      if (entry.isDirectory() && !UNVISITED.has(entry.name)) waiting.push(path);
      if (!entry.isFile()) continue;
      count += 1;
      if (count > MOST_FILES) return;
      yield path;
    }
  }
}
