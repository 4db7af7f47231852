import { posix } from 'node:path';

/** What joins commands: an allowed pattern must not let a second command through behind its `*`. */
const SHELL = '[^;&|`$<>()\\n\\r]*';

/** `*` stands for any text. */
export function textPattern(pattern: string): RegExp {
  return compile(pattern, '[^]*');
}

/** `*.example.com` stands for all hosts below, and `*` for any. */
export function hostPattern(pattern: string): (host: string) => boolean {
  const fits = compile(normalHost(pattern), '[^]*');
  return (host) => fits.test(normalHost(host));
}

/** `*` stands for a part of a name, `**` for any directories too. What leaves the directory fits nothing. */
export function pathPattern(pattern: string): (path: string) => boolean {
  const fits = compile(posix.normalize(pattern), '[^/]*', '[^]*');
  return (path) => {
    const normal = posix.normalize(path.replaceAll('\\', '/')).replace(/^\.\//, '');
    return !normal.startsWith('../') && normal !== '..' && fits.test(normal);
  };
}

/** `git *`. Where it allows, `*` never stands for what starts another command. */
export function commandPattern(pattern: string, allows: boolean): (command: string) => boolean {
  const fits = compile(pattern.trim(), allows ? SHELL : '[^]*');
  return (command) => fits.test(command.trim());
}

function normalHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function compile(pattern: string, star: string, stars = star): RegExp {
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (part.startsWith('*')) return part.length > 1 ? stars : star;
    return part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
