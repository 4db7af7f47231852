/** A rule of the policy by a name for people: its place in the file counted from 1, or which default it is. */
export function ruleName(rule: string): string {
  const index = /^rules\[(\d+)\]$/.exec(rule)?.[1];
  if (index !== undefined) return `rule ${Number(index) + 1} of policy.yaml`;
  return rule.startsWith('default: ') ? `the default “${rule.slice('default: '.length)}”` : rule;
}
