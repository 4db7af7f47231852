import type { AuditEntry } from '@trunkline/std';
import { ruleName } from '../../src/components/RuleLink.tsx';
import { stateLamp } from '../../src/lib/states.ts';

/** The name of an account, by the id of its principal; undefined for others. */
export type NameOf = (principal: string) => string | undefined;

/** What the default rules of the policy say, in a few words. */
const DEFAULTS: Record<string, string> = {
  'default: guests': 'guests may only use tools that read',
  'default: effects after outside text':
    'the turn had read text from outside, and the tool does more than read',
  'default: addresses after outside text':
    'the turn had read text from outside, and nobody had named the address',
  'policy.yaml cannot be read': 'policy.yaml cannot be read',
};

/** Who did what, or was kept from it, in a sentence. */
export function sentenceOf(entry: AuditEntry, nameOf: NameOf): string {
  const { action, subject, decision, result } = entry;
  const who = personOf(entry.principal, nameOf);
  switch (action) {
    case 'tool.call':
      return callSentence(entry, who);
    case 'operator.sign-in':
      return isRefused(result) ? 'A sign-in as operator was refused.' : 'A browser signed in as operator.';
    case 'operator.sign-out':
      return `${who} signed out.`;
    case 'http.refused':
      return /^\w+ \//.test(subject) ? `${who} was refused ${subject}.` : `${subject}: ${result}.`;
    case 'http.change':
      return `${who} ${isRefused(result) ? 'tried' : 'used'} ${subject}.`;
    default:
      return [`${who}: ${action}`, subject, decision, result].filter(Boolean).join(', ');
  }
}

function callSentence({ subject: tool, decision, rule, result }: AuditEntry, who: string): string {
  const why = rule === null ? '' : `: ${DEFAULTS[rule] ?? ruleName(rule)}`;
  if (decision === 'deny' || result === 'refused') return `${who} was refused ${tool}${why}.`;
  if (result === 'waits for a person') return `${who} wants to use ${tool} and waits for approval${why}.`;
  if (result === 'nobody could be asked')
    return `${who} was refused ${tool}, as nobody could be asked${why}.`;
  if (result === 'over budget') return `${who} was refused ${tool}: the budget of this hour is spent.`;
  if (result?.startsWith('refused by a person'))
    return `${who} was refused ${tool}: a person said no, or did not answer in time.`;
  if (result === 'failed') return `${who} used ${tool}, which failed.`;
  return decision === 'ask' ? `${who} used ${tool} after approval${why}.` : `${who} used ${tool}.`;
}

function personOf(principal: string, nameOf: NameOf): string {
  const [kind = '', ...rest] = principal.split(':');
  const id = rest.join(':');
  const name = nameOf(id);
  if (name !== undefined) return name;
  if (kind === 'anonymous') return 'Somebody unknown';
  if (id === '' || id === kind) return `The ${kind}`;
  return kind === 'person' ? id : `${kind[0]?.toUpperCase()}${kind.slice(1)} ${id}`;
}

export function lampOf({ action, decision, result }: AuditEntry): ReturnType<typeof stateLamp> {
  if (result === 'waits for a person') return stateLamp('held');
  const refused =
    decision === 'deny' || /^refused|^nobody|^over budget/.test(result ?? '') || isRefused(result);
  if (action === 'http.refused' || refused) return stateLamp('refused');
  if (result === 'failed') return stateLamp('failed');
  return stateLamp('done');
}

function isRefused(result: string | null): boolean {
  return /^[45]\d\d$/.test(result ?? '');
}
