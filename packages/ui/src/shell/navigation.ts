import { useEffect } from 'react';
import type { Place, Section } from './PageFrame.tsx';
import { SERVICES } from './services.tsx';

/** Names the section in the title, so that tabs and the browser's history tell the pages of a console apart. */
export function usePageTitle({ service, currentSection }: Place, sections: readonly Section[]): void {
  const section = sections.find(({ id }) => id === currentSection)?.label;
  useEffect(() => {
    if (section !== undefined) document.title = `${section} · ${SERVICES[service].title} · Trunkline`;
  }, [section, service]);
}

/**
 * A button may go with what it did: the approval that was given, the plan that was started. Without this the focus is then
 * nowhere, and screen readers, and the Tab key of some browsers, begin at the top of the page again. The nearest element around
 * it that is still there gets the focus.
 */
export function useKeptFocus(contentId: string): void {
  useEffect(() => {
    const content = document.getElementById(contentId);
    return content === null ? undefined : keepFocusIn(content);
  }, [contentId]);
}

function keepFocusIn(content: HTMLElement): () => void {
  /** What had the focus last, and what is around it, from the inside. */
  let path: HTMLElement[] = [];
  let frame = 0;
  const nextFrame = (run: () => void) => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(run);
  };
  const onFocus = ({ target }: FocusEvent) => {
    cancelAnimationFrame(frame);
    path = target instanceof HTMLElement ? pathWithin(content, target) : [];
  };
  // Whoever clicks beside it gives the focus up; one that is removed, or waits for its answer, loses it.
  const onBlur = ({ target, relatedTarget }: FocusEvent) => {
    if (relatedTarget !== null) return;
    nextFrame(() => {
      if (!isLost(target)) path = [];
    });
  };
  const observer = new MutationObserver(() => {
    if (path.length === 0 || path[0]?.isConnected) return;
    nextFrame(() => {
      if (document.activeElement === document.body) focusOn(path.find(({ isConnected }) => isConnected));
    });
  });
  observer.observe(content, { childList: true, subtree: true });
  document.addEventListener('focusin', onFocus);
  document.addEventListener('focusout', onBlur);
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    document.removeEventListener('focusin', onFocus);
    document.removeEventListener('focusout', onBlur);
  };
}

function pathWithin(content: HTMLElement, from: HTMLElement): HTMLElement[] {
  const path: HTMLElement[] = [];
  for (let at: HTMLElement | null = from; at !== null && at !== content; at = at.parentElement) path.push(at);
  return content.contains(from) ? [...path, content] : [];
}

function isLost(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (!target.isConnected || target.matches(':disabled'));
}

function focusOn(element: HTMLElement | undefined): void {
  if (element === undefined) return;
  if (!element.hasAttribute('tabindex')) {
    element.tabIndex = -1;
    element.addEventListener('blur', () => element.removeAttribute('tabindex'), { once: true });
  }
  element.focus({ preventScroll: true });
}
