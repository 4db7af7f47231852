import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { ConfigError } from '@trunkline/config';

/** Refuses to start where the file tools of agents could write configuration: whoever writes that runs programs. */
export function checkApart(files: string, places: Readonly<Record<string, string | undefined>>): void {
  const root = realPath(files);
  const inside = Object.entries(places).filter(([, path]) => path !== undefined && isInside(root, path));
  if (inside.length === 0) return;
  throw new ConfigError(
    'The switchboard does not start:',
    inside.map(
      ([variable, path]) =>
        `${path} lies in ${files}, where agents may write any file; set ${variable} to a place outside it`,
    ),
  );
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, realPath(path));
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`));
}

/** With the links of what exists resolved; the rest may be created later. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || dirname(whole) === whole) throw error;
    return join(realPath(dirname(whole)), basename(whole));
  }
}
