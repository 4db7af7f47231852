import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { ServiceFacts } from './services.ts';

const made = 'Made from code by `npm run docs`.';

/** Every route of every service, with the errors of its own. */
export function routesPage(services: readonly ServiceFacts[]): string {
  const parts = services.map(({ name, paths }) => {
    const rows = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { summary = '', responses = {}, security = [] }]) => {
        const refusals = Object.entries(responses)
          .filter(([status]) => Number(status) >= 400 && status !== '401')
          .map(([status, { description = '' }]) => `${status} ${description}`);
        const key = security.length > 0 ? 'yes' : '';
        return `| \`${method.toUpperCase()} ${path}\` | ${cell(summary)} | ${key} | ${cell(refusals.join('; '))} |`;
      }),
    );
    return [
      `## ${name}`,
      '',
      '| Route | Does | Key | Refusals of its own |',
      '|---|---|---|---|',
      ...rows.sort(),
      '',
    ].join('\n');
  });
  return [
    '# Routes and errors',
    '',
    `${made} The shapes of requests and answers are at \`/docs\` of each service. Where a key is asked for, 401 stands for a wrong one; the words of a refusal say what to do.`,
    '',
    ...parts,
  ].join('\n');
}

interface AuthorisationTable {
  principals: Record<string, string>;
  classes: Record<string, { text: string; allows: string[] }>;
  routes: Record<string, Record<string, string[]>>;
}

/** Who may use which route, from the table that the tests go by. */
export function authorisationPage(root: string): string {
  const text = readFileSync(join(root, 'security/authorisation.yaml'), 'utf8');
  const { principals, classes, routes } = parse(text) as AuthorisationTable;
  const who = Object.keys(principals);
  const rows = Object.entries(classes).map(
    ([name, { text: words, allows }]) =>
      `| ${name} | ${cell(words)} | ${who.map((each) => (allows.includes(each) ? 'yes' : '')).join(' | ')} |`,
  );
  const services = Object.entries(routes).map(([name, listed]) =>
    [
      name === 'all' ? '## All services' : `## ${name}`,
      '',
      '| Route | Class |',
      '|---|---|',
      ...Object.entries(listed)
        .flatMap(([given, paths]) => paths.map((route) => `| \`${route}\` | ${given} |`))
        .sort(),
      '',
    ].join('\n'),
  );
  return [
    '# Who may use which route',
    '',
    `${made} Where a service asks for keys. A test calls every route as every principal; a route without a class fails it. Handlers may check more: whose task, file or schedule it is, and what a scoped key may publish.`,
    '',
    ...Object.entries(principals).map(([name, words]) => `- **${name}**: ${words}`),
    '',
    `| Class | Who | ${who.join(' | ')} |`,
    `|---|---|${who.map(() => '---|').join('')}`,
    ...rows,
    '',
    ...services,
  ].join('\n');
}

/** The tools of the agent with nothing configured. */
export function toolsPage(tools: readonly { name: string; description: string }[]): string {
  const rows = tools
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map(({ name, description }) => `| \`${name}\` | ${cell(description)} |`);
  return [
    '# Tools of the agent',
    '',
    `${made} Those that are there with nothing configured; delegates, MCP servers, coding agents and plugins bring more.`,
    '',
    '| Tool | Does |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}

const spoken =
  /\b(?:topic|pattern)s?:\s*\[?\s*(['`])((?:message|agent|command|cron|flow|dispatch|delivery|tracker|cloud|ceremony|schedule|system|config|auth|operator|release|review|reviewer|security|skill|knowledge|logger|autonomous)\.[^'`\n]*)\1/g;
const heard = /subscribe\(\s*(['`])([a-z][^'`\n]*)\1/g;

/** Topics as they stand in the code of the switchboard: who publishes and who listens. */
export function topicsPage(root: string): string {
  const found = new Map<string, Set<string>>();
  const files = globSync('apps/switchboard/**/*.ts', { cwd: root }).filter(
    (file) => !/node_modules|\.test\.ts|\.suite\.ts|fixtures|\/console\/|\/browser\//.test(file),
  );
  for (const file of files.sort()) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [pattern, word] of [
      [spoken, 'published or handled'],
      [heard, 'listened to'],
    ] as const) {
      for (const match of text.matchAll(pattern)) {
        const topic = (match[2] ?? '').replaceAll(
          /\$\{(?:escapeSegment\()?([\w.]+?)\)?\}/g,
          (_, name: string) => `{${name.split('.').at(-1)}}`,
        );
        found.set(
          topic,
          (found.get(topic) ?? new Set()).add(`${word} in ${file.replace('apps/switchboard/', '')}`),
        );
      }
    }
  }
  const rows = [...found]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([topic, places]) => `| \`${topic}\` | ${cell([...places].join('; '))} |`);
  const head = `${made} A \`#\` stands for any segments, \`{name}\` for one that is filled in. [The guide](../switchboard.md) says what they mean.`;
  return ['# Topics of the switchboard', '', head, '', '| Topic | Where |', '|---|---|', ...rows, ''].join(
    '\n',
  );
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();
}
