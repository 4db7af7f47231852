// What must hold for every page, whatever it shows.
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
