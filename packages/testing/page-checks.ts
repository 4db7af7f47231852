// What must hold for every page, whatever it shows.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { TestPage } from './browser.ts';

type Page = TestPage['page'];

const NAMED_ROLES = [
  'button',
  'link',
  'textbox',
  'checkbox',
  'switch',
  'combobox',
  'tab',
  'dialog',
  'menuitem',
  'img',
];

/** By how many pixels the page is wider than its window, once it has settled; 0 when it does not scroll sideways. */
export async function sidewaysScroll(page: Page): Promise<number> {
  return await page.evaluate(async () => {
    const excess = () => Math.max(0, document.documentElement.scrollWidth - window.innerWidth);
    for (let frame = 0; frame < 60 && excess() > 0; frame += 1)
      await new Promise((resolve) => requestAnimationFrame(resolve));
    return excess();
  });
}

/** The controls that a screen reader could not name. */
export async function namelessControls(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  const nameless = nodes.filter((node) => !node.ignored && isNamed(node.role?.value) && !node.name?.value);
  return nameless.map((node) => `${String(node.role?.value)} (node ${node.backendDOMNodeId})`);
}

function isNamed(role: unknown): boolean {
  return typeof role === 'string' && NAMED_ROLES.includes(role);
}

/** WCAG 2.0 to 2.2, A and AA, and what axe calls best practice; no rule is left out. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

let source: Promise<string> | undefined;

/** What stands around the content: most elements of a page, the same on each of a service. */
const AROUND = ['nav', 'header', 'aside'].map((name) => [`${name}:not(main ${name})`]);

const DIALOG = [['[role=dialog], [role=alertdialog]']];

/**
 * What axe finds wrong with the page as it stands: the rule, the element and the reason; in the whole page, its content, or a dialog; by all rules, or by those
 * that read colours, the only ones that another theme of the same elements can break.
 */
export async function axeViolations(
  page: TestPage['page'],
  part: 'page' | 'content' | 'dialog' = 'page',
  rules: 'all' | 'colours' = 'all',
): Promise<string[]> {
  source ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const isThere = await page.evaluate(() => 'axe' in globalThis);
  if (!isThere) await page.evaluate(await source);
  return await page.evaluate(
    async ({ tags, rules, include, exclude }) => {
      const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
      const context = { include, exclude };
      const ofColours = () => axe.getRules(tags).filter((rule) => rule.tags.includes('cat.color'));
      const runOnly = rules === 'all' ? tags : ofColours().map(({ ruleId }) => ruleId);
      const { violations } = await axe.run(context, { runOnly, resultTypes: ['violations'] });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(
          (node) => `${id}: ${node.html.slice(0, 200)} (${node.failureSummary?.split('\n')[1]?.trim()})`,
        ),
      );
    },
    {
      tags: TAGS,
      rules,
      include: part === 'dialog' ? DIALOG : [['html']],
      exclude: part === 'content' ? AROUND : [],
    },
  );
}
