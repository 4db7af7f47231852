import type { Fact } from './health.ts';

type Labels = Readonly<Record<string, string>>;

/** What a field is called on the page: its label, else its own name made readable. */
export function labelFor(key: string, labels: Labels): string {
  const words = key.replaceAll(/[._]+/g, ' ');
  return labels[key] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The facts that have a label, in the order of the labels, and the others as they came. */
export function splitFacts(facts: readonly Fact[], labels: Labels): { named: Fact[]; others: Fact[] } {
  const named = Object.keys(labels).flatMap((key) => facts.filter((fact) => fact.key === key));
  return { named, others: facts.filter((fact) => labels[fact.key] === undefined) };
}
