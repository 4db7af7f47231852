import type { Fence } from './fence.ts';

const MOST_FILES = 20_000;
const UNVISITED = new Set(['.git', 'node_modules']);

/** Paths of the files below a directory, in order; links are not followed. */
export async function* walkFiles(fence: Fence, directory: string): AsyncGenerator<string> {
  const waiting = [directory === '' ? '.' : directory];
  let count = 0;
  for (let current = waiting.shift(); current !== undefined; current = waiting.shift()) {
    for (const entry of await fence.list(current)) {
      const path = current === '.' ? entry.name : `${current.replace(/\/+$/, '')}/${entry.name}`;
      if (entry.isDirectory() && !UNVISITED.has(entry.name)) waiting.push(path);
      if (!entry.isFile()) continue;
      count += 1;
      if (count > MOST_FILES) return;
      yield path;
    }
  }
}

/** `*` and `?` stay within a name, `**` crosses directories; a pattern without a slash fits any directory. */
export function globToPattern(glob: string): RegExp {
  const whole = glob.includes('/') ? glob.replace(/^\.?\//, '') : `**/${glob}`;
  const source = whole
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map((piece) => WILDCARDS[piece] ?? piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('');
  return new RegExp(`^${source}$`);
}

const WILDCARDS: Readonly<Record<string, string>> = {
  '**/': '(?:[^/]+/)*',
  '**': '.*',
  '*': '[^/]*',
  '?': '[^/]',
};
