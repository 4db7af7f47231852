import { version } from '../version.ts';
import type { Fleet } from './fleet.ts';

const purposes: Record<string, string> = {
  voice: 'talk to an agent in the browser',
  agent: 'give tasks to an agent, in chat or over A2A',
  research: 'ask with sources, or order a report',
  switchboard: 'wire surfaces, agents and schedules together',
};

/** What the terminal shows once everything runs: addresses, the model, and what is missing for full function. */
export function introduce({ members, options, bus, missing }: Fleet, link: string | undefined): string {
  const rows = members.map(({ name, url }): [string, string] => [
    name,
    `${url.padEnd(24)} ${purposes[name] ?? ''}`,
  ]);
  const facts: [string, string][] = [
    ['bus', bus],
    ['data', options.trunklineHome],
  ];
  const wants = unique(missing().map(({ what, variable, hint }) => `${what} (${variable}): ${hint}`));
  return [
    '',
    `Trunkline ${version}`,
    '',
    ...columns(rows.sort()),
    '',
    ...columns(facts),
    '',
    ...signIn(link),
    ...(wants.length > 0 ? ['', '  For full function:', ...wants.map((want) => `  - ${want}`)] : []),
    '',
    '  Ctrl-C stops everything. "trunkline doctor" checks the set-up.',
    '',
  ].join('\n');
}

/** How the person at this terminal becomes the operator in their browser. */
function signIn(link: string | undefined): string[] {
  if (link === undefined)
    return [
      '  TRUNKLINE_OPEN=1: everybody who reaches these services may configure them and approve commands.',
    ];
  return [
    `  Open as operator: ${link}`,
    '  The link works once, within an hour, and signs the browser in to all four; "npx trunkline login" prints new ones.',
  ];
}

function columns(rows: [string, string][]): string[] {
  return rows.map(([name, text]) => `  ${name.padEnd(12)} ${text.trimEnd()}`);
}

function unique(texts: string[]): string[] {
  return [...new Set(texts)];
}
