import { hash } from 'node:crypto';
import { posix } from 'node:path';
import type { CallSubject } from '@trunkline/llm';
import { addressRule, type PolicyDecision, type PolicyRequest } from '@trunkline/policy';
import type { TurnPolicy } from './options.ts';

const longestQuote = 200;

/** What "for this task" covers: the tool for one host, command, recipient and directory, else for the same arguments. */
export function grantFor({ tool, subject }: PolicyRequest, input: unknown): { key: string; covers: string } {
  const { host, command, recipient } = subject;
  const path = subject.path === undefined ? undefined : posix.normalize(subject.path);
  const directory = path === undefined ? undefined : posix.dirname(path);
  const isWhole = !subject.guessed && subject.others === undefined;
  const given = isWhole ? { host, command, recipient, directory } : {};
  const named = Object.entries(given).filter(([, value]) => value);
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

/** What policy asks about runs only after a person's yes. */
export function isApproved({ decision, rule }: PolicyDecision): boolean {
  return decision === 'ask' || rule.startsWith('rules[');
}

/** What a person has allowed holds for all that the same rule asks about; so does an address that others wrote. */
export function isPermitted(
  subject: CallSubject,
  { request, decided }: { request: PolicyRequest; decided: PolicyDecision },
  { policy, quotesUrl }: { policy: TurnPolicy; quotesUrl(url: string): boolean },
): boolean {
  const { decide, check = decide } = policy;
  const { decision, rule } = check({ ...request, subject });
  if (decision !== 'ask') return decision === 'allow';
  const { url } = request.subject;
  return rule === decided.rule || (rule === addressRule && url !== undefined && quotesUrl(url));
}
