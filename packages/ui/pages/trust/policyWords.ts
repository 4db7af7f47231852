import type { PolicyRuleView, PolicyVerdict } from '@trunkline/std';

export const DECISIONS = {
  allow: { word: 'Allow', done: 'Runs', tone: 'live' },
  ask: { word: 'Ask', done: 'Asks', tone: 'waiting' },
  deny: { word: 'Deny', done: 'Refused', tone: 'failed' },
} as const satisfies Record<PolicyVerdict['decision'], { word: string; done: string; tone: string }>;

/** What holds where no rule fits, in the order in which it is looked at. */
export const DEFAULTS: readonly { decision: PolicyVerdict['decision']; when: string; why: string }[] = [
  {
    decision: 'deny',
    when: 'Guests: every tool that does more than read',
    why: 'Somebody whom nobody knows yet may talk, and change nothing.',
  },
  {
    decision: 'allow',
    when: 'The turn has read no text from outside: any call',
    why: 'The words are those of whoever asks. Tools with an approval of their own, such as run_command, still ask.',
  },
  {
    decision: 'allow',
    when: 'After text from outside: calls that only read',
    why: 'Also work for another of your agents that your last words name, and your answer to the one who wrote all of that text.',
  },
  {
    decision: 'ask',
    when: 'After text from outside: an address that nobody named and that stood in no text',
    why: 'A page could make the model put what it knows into an address.',
  },
  {
    decision: 'ask',
    when: 'After text from outside: everything else',
    why: 'Whoever wrote that text must not use your tools without you.',
  },
];

const SUBJECTS: Record<string, string> = {
  path: 'for the path',
  host: 'for the host',
  command: 'for the command',
  recipient: 'to',
};

/** The conditions of a rule in a sentence: "write_file for the path reports/** by person, after text from outside". */
export function ruleSentence(rule: PolicyRuleView): string {
  const subjects = Object.entries(rule.arguments ?? {}).map(
    ([field, patterns]) => `${SUBJECTS[field] ?? field} ${either(patterns)}`,
  );
  const tools = rule.tool ? either(rule.tool) : 'any tool';
  const parts = [
    rule.effects ? `${tools} that ${either(rule.effects)}` : tools,
    ...subjects,
    rule.principal && `by ${either(rule.principal)}`,
    rule.agent && `in ${either(rule.agent)}`,
    rule.taint && (rule.taint === 'tainted' ? 'after text from outside' : 'before any text from outside'),
  ];
  return parts.filter(Boolean).join(' ');
}

function either(words: readonly string[] | undefined): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(words ?? []);
}

/** What a file begins with that nobody has written yet. */
export const TEMPLATE = `# The first rule that fits decides; then the defaults. See docs/policy.md.
rules: []
#  - tool: write_file
#    arguments: { path: 'reports/**' }
#    decision: allow
#    reason: Reports may be written after research.

# Hosts that may be read after text from outside.
hosts: []

# agents:
#   scribe: { taint: relaxed }   # whoever writes the text that it reads can then use all its tools
#   helm: { delegation: relaxed }   # whoever writes the text that it reads can then give work to your other agents

# budgets:
#   - { principal: person, calls: 200, messages: 20, usd: 2 }   # each an hour, by principal and agent
`;
