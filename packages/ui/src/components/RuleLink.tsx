/** Which rule of the policy held something back, with the way to the policy. */
export function RuleLink({ rule }: { rule: string }) {
  return (
    <p className="text-12 text-muted">
      Decided by {ruleName(rule)}.{' '}
      <a href="/trust/policy" className="text-accent-text underline underline-offset-2">
        Look at the policy
      </a>
    </p>
  );
}

/** A rule of the policy by a name for people: its place in the file counted from 1, or which default it is. */
export function ruleName(rule: string): string {
  const index = /^rules\[(\d+)\]$/.exec(rule)?.[1];
  if (index !== undefined) return `rule ${Number(index) + 1} of policy.yaml`;
  return rule.startsWith('default: ') ? `the default “${rule.slice('default: '.length)}”` : rule;
}
