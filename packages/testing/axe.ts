import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { TestPage } from './browser.ts';

/** WCAG 2.0 to 2.2, A and AA, and what axe calls best practice; no rule is left out. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

let source: Promise<string> | undefined;

/** What stands around the content: most elements of a page, the same on each of a service. */
const AROUND = ['nav', 'header', 'aside'].map((name) => [`${name}:not(main ${name})`]);

const DIALOG = [['[role=dialog], [role=alertdialog]']];

/** What axe finds wrong with the page as it stands: the rule, the element and the reason; in the whole page, its content, or a dialog. */
export async function axeViolations(
  page: TestPage['page'],
  part: 'page' | 'content' | 'dialog' = 'page',
): Promise<string[]> {
  source ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const isThere = await page.evaluate(() => 'axe' in globalThis);
  if (!isThere) await page.evaluate(await source);
  return await page.evaluate(
    async ({ runOnly, include, exclude }) => {
      const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
      const context = { include, exclude };
      const { violations } = await axe.run(context, { runOnly, resultTypes: ['violations'] });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(
          (node) => `${id}: ${node.html.slice(0, 200)} (${node.failureSummary?.split('\n')[1]?.trim()})`,
        ),
      );
    },
    {
      runOnly: TAGS,
      include: part === 'dialog' ? DIALOG : [['html']],
      exclude: part === 'content' ? AROUND : [],
    },
  );
}
