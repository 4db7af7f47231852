// What tests of pages ask and do with the keyboard.
import type { TestPage } from '@trunkline/testing';

type Page = TestPage['page'];

/** The label or text of what has the focus, with a remark when the focus cannot be seen. */
export async function seenFocus(page: Page): Promise<string> {
  return await page.evaluate(() => {
    const focused = document.activeElement;
    if (!(focused instanceof HTMLElement) || focused === document.body) return '(nothing)';
    const styles = [getComputedStyle(focused), getComputedStyle(focused, '::after')];
    const seen = styles.some(
      ({ outlineStyle, outlineWidth }) => outlineStyle !== 'none' && outlineWidth !== '0px',
    );
    const label = focused.getAttribute('aria-label') ?? focused.textContent.trim();
    return seen ? label : `${label} (unseen)`;
  });
}

export function isFocused(element: Element): boolean {
  return element === document.activeElement;
}

/** Opens the command palette by its shortcut and waits until it takes what is typed. */
export async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.locator('[role=combobox]:focus').waitFor();
}

/** The words in drawings of which a part lies outside. */
export async function cutWords(page: Page): Promise<string[]> {
  return await page.locator('svg text').evaluateAll((words) =>
    words.flatMap((word) => {
      const [inner, outer] = [word.getBoundingClientRect(), word.closest('svg')?.getBoundingClientRect()];
      const isCut = !outer || inner.left < outer.left - 1 || inner.right > outer.right + 1;
      return isCut ? [word.textContent] : [];
    }),
  );
}
