import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const file = 'docs/troubleshooting.md';
const marker = '<!-- Made from code by `npm run docs` from here on. -->';

interface ErrorText {
  code: string;
  status: string;
  message: string;
}

/** The page keeps what is written by hand above the marker; below it stands every error of the code. */
export function troubleshootingPage(root: string): string {
  const [top = ''] = readFileSync(join(root, file), 'utf8').split(marker);
  const errors = groupsOf(root).map(([title, found]) =>
    [`### ${title}`, '', '| Code | Status | What it says |', '|---|---|---|', ...found.map(row), ''].join(
      '\n',
    ),
  );
  return [
    `${top}${marker}`,
    '',
    '## Errors of the model',
    '',
    'A failed answer, `/healthz` and `npm run doctor` show these sentences, with what the endpoint said behind them.',
    '',
    '| Code | What it says |',
    '|---|---|',
    ...modelErrors(root).map(({ code, message }) => `| \`${code}\` | ${cell(message)} |`),
    '',
    '## Errors of the services',
    '',
    'The header `x-error-code` of an answer holds the code. `<name>` stands for a value that is filled in.',
    '',
    ...errors,
  ].join('\n');
}

const titles: Record<string, string> = {
  'packages/http': 'All services: requests, keys, addresses',
  'packages/accounts': 'All services: accounts',
  'packages/oidc': 'All services: sign-in at a provider',
  'packages/policy': 'All services: policy',
  'packages/service': 'All services: secrets and settings',
  'packages/openai-api': 'OpenAI-compatible API',
  'packages/gguf': 'Models from a GGUF file',
  'apps/voice': 'Voice',
  'apps/agent': 'Agent',
  'apps/research': 'Research',
  'apps/switchboard': 'Switchboard',
};

function groupsOf(root: string): [string, ErrorText[]][] {
  const files = globSync('{apps,packages}/**/*.ts', { cwd: root }).filter(
    (each) => !/node_modules|\.test\.ts|\.suite\.ts|fixtures|packages\/testing/.test(each),
  );
  const found = Map.groupBy(files.toSorted(), (each) => each.split('/').slice(0, 2).join('/'));
  const groups = [...found].map(([folder, members]): [string, ErrorText[]] => [
    titles[folder] ?? folder,
    members
      .flatMap((member) => errorsIn(readFileSync(join(root, member), 'utf8')))
      .toSorted((one, other) => one.code.localeCompare(other.code)),
  ]);
  const order = Object.values(titles);
  return groups
    .filter(([, errors]) => errors.length > 0)
    .toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
}

/** The entries of `defineErrors` tables: a code, a status, and words as text or as a function of what is filled in. */
function errorsIn(source: string): ErrorText[] {
  return [...source.matchAll(/defineErrors\(\{\n([\s\S]*?)\n\s*\}\)/g)].flatMap(([, table = '']) =>
    [...table.matchAll(/^\s*(\w+): \[\s*(\d{3}),([\s\S]*?)\s*\],$/gm)].flatMap(
      ([, code = '', status = '', words = '']) => {
        const message = literals(words);
        return isSaying(message) ? [{ code, status, message }] : [];
      },
    ),
  );
}

/** Words that are only a value handed in say nothing here. */
function isSaying(message: string): boolean {
  return message.replaceAll(/<\w+>/g, '').replaceAll(/\W/g, '').length > 3;
}

function modelErrors(root: string): ErrorText[] {
  const source = readFileSync(join(root, 'packages/llm/model-error.ts'), 'utf8');
  return [...source.matchAll(/^ {2}'?([\w-]+)'?: \{[^}]*?advice:\s*('[^']*'|"[^"]*")/gm)].map(
    ([, code = '', words = '']) => ({ code, status: '', message: literals(words) }),
  );
}

function literals(words: string): string {
  const body = words.replace(/^\s*(?:\([^)]*\)|\w+)\s*=>/, '');
  const [first = ''] = body.match(/`(?:[^`\\]|\\.)*`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/) ?? [];
  return first
    .slice(1, -1)
    .replaceAll(/\$\{([^}]*)\}/g, (_, value: string) => `<${nameIn(value)}>`)
    .replaceAll(/\\(.)/g, '$1');
}

/** The last name of an expression: `request.allowed.join(' or ')` is `allowed`. */
function nameIn(value: string): string {
  const [, name] = /^(?:[a-z]\w*\.)?(\w+)/.exec(value.trim()) ?? [];
  return name ?? 'value';
}

function row({ code, status, message }: ErrorText): string {
  return `| \`${code}\` | ${status} | ${cell(message)} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll(/\s+/g, ' ').trim();
}
