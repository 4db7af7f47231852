import { hash } from 'node:crypto';
import { posix } from 'node:path';
import type { PolicyRequest } from '@trunkline/policy';

const longestQuote = 200;

/** What "for this task" covers: the tool for one host, command, recipient and directory, else for the same arguments. */
export function grantFor({ tool, subject }: PolicyRequest, input: unknown): { key: string; covers: string } {
  const { host, command, recipient } = subject;
  const path = subject.path === undefined ? undefined : posix.normalize(subject.path);
  const directory = path === undefined ? undefined : posix.dirname(path);
  const named = Object.entries({ host, command, recipient, directory }).filter(([, value]) => value);
  if (named.length > 0)
    return {
      key: JSON.stringify([tool, Object.fromEntries(named)]),
      covers: `${tool} with ${named.map(([name, value]) => `the ${name} ${quote(value ?? '')}`).join(' and ')}`,
    };
  const digest = hash('sha256', JSON.stringify(input) ?? '', 'base64url');
  return {
    key: JSON.stringify([tool, { hash: digest }]),
    covers: `${tool} with these arguments`,
  };
}

export function quote(text: string): string {
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text;
}
