import { posix } from 'node:path';
import { domainToASCII } from 'node:url';

/** What joins commands: an allowed pattern must not let a second command through behind its `*`. */
const SHELL = '[^;&|`$<>()\\n\\r]*';

/** `*` stands for any text. */
export function textPattern(pattern: string): (text: string) => boolean {
  if (!pattern.includes('*')) return (text) => text === pattern;
  const fits = compile(pattern, '[^]*');
  return (text) => fits.test(text);
}

/** `*.example.com` stands for all hosts below, and `*` for any. */
export function hostPattern(pattern: string): (host: string) => boolean {
  const fits = compile(asciiHost(normalHost(pattern)), '[^]*');
  return (host) => fits.test(normalHost(host));
}

/**
 * `*` stands for a part of a name, `**` for any directories too. A rule that asks or denies is for the directory itself
 * as well (`secrets/**` fits `secrets`), for every path that leaves the workspace or cannot be resolved, and for a path from
 * the root that ends so (`/srv/files/secrets/key`): where a tool of others has its files is not known.
 */
export function pathPattern(pattern: string, allows: boolean): (path: string) => boolean {
  const normalPattern = posix.normalize(pattern);
  const fits = compile(normalPattern, '[^/]*', '[^]*');
  const isDirectory = compile(normalPattern.replace(/\/\*\*$/, ''), '[^/]*', '[^]*');
  return (path) => {
    const normal = posix.normalize(path.replaceAll('\\', '/')).replace(/^\.\/(?=.)|(?<=.)\/$/g, '');
    if (normal.startsWith('../') || normal === '..') return !allows;
    if (allows) return fits.test(normal);
    return endingsOf(normal).some((ending) => fits.test(ending) || isDirectory.test(ending));
  };
}

/** The path; of one from a root also what is below each of its directories. */
function endingsOf(path: string): string[] {
  if (!/^(?:\/|~|[a-z]:)/i.test(path)) return [path];
  const names = path.split('/');
  return [path, ...names.slice(1).map((_, at) => names.slice(at + 1).join('/'))];
}

/** `git *`. Where it allows, `*` never stands for what starts another command. */
export function commandPattern(pattern: string, allows: boolean): (command: string) => boolean {
  const fits = compile(pattern.trim(), allows ? SHELL : '[^]*');
  return (command) => fits.test(command.trim());
}

function normalHost(host: string): string {
  return host.toLowerCase().replace(/\.+$/, '');
}

/** Addresses name hosts in ASCII (`xn--…`). Each label is converted by itself, so that a `*` stays. */
function asciiHost(pattern: string): string {
  return pattern
    .split('.')
    .map((label) => (/[^\x20-\x7e]/.test(label) ? domainToASCII(label) || label : label))
    .join('.');
}

function compile(pattern: string, star: string, stars = star): RegExp {
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (part.startsWith('*')) return part.length > 1 ? stars : star;
    return part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
