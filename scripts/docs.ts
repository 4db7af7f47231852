// Writes the pages that are made from code; with --check, fails when one of them is out of date.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { environmentExample, referencePage } from '@trunkline/config';
import { optionTables } from '../apps/trunkline/options.ts';
import { authorisationPage, routesPage, toolsPage, topicsPage } from './docs/reference.ts';
import { readServices } from './docs/services.ts';
import { licencePage } from './docs/supply-chain.ts';
import { troubleshootingPage } from './docs/troubleshooting.ts';

const root = process.cwd();
const { services, tools } = await readServices();
const pages: Record<string, string> = {
  '.env.example': environmentExample(optionTables),
  'docs/reference/settings.md': referencePage(optionTables),
  'docs/reference/routes.md': routesPage(services),
  'docs/reference/authorisation.md': authorisationPage(root),
  'docs/reference/tools.md': toolsPage(tools),
  'docs/reference/topics.md': topicsPage(root),
  'docs/troubleshooting.md': troubleshootingPage(root),
  'THIRD-PARTY.md': licencePage(join(root, 'package-lock.json')),
};

const stale = Object.keys(pages).filter((file) => read(file) !== pages[file]);
if (process.argv.includes('--check')) {
  for (const file of stale) console.error(`${file} is out of date: run npm run docs`);
  process.exit(stale.length > 0 ? 1 : 0);
}
for (const file of stale) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), pages[file] ?? '');
  console.log(`wrote ${file}`);
}
process.exit(0);

function read(file: string): string | undefined {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return undefined;
  }
}
