import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

const LEAVE_MS = 180;

export interface CitationCardState {
  /** The link whose card is shown. */
  link: HTMLAnchorElement | null;
  /** Keeps the card while the pointer is on it. */
  hold(): void;
  leave(): void;
  close(): void;
}

/** Shows a card for the citation that is hovered, focused or tapped inside the element. */
export function useCitationCard(root: RefObject<HTMLElement | null>): CitationCardState {
  const [link, setLink] = useState<HTMLAnchorElement | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const hold = useCallback(() => clearTimeout(timer.current), []);
  const close = useCallback(() => {
    clearTimeout(timer.current);
    setLink(null);
  }, []);
  const leave = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(close, LEAVE_MS);
  }, [close]);

  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const show = (event: Event) => {
      const found = citationAt(event);
      if (found === undefined) return;
      hold();
      setLink(found);
    };
    const hide = (event: Event) => citationAt(event) !== undefined && leave();
    const press = (event: Event) => {
      const found = citationAt(event);
      if (found === undefined) return;
      // The address of the page is its route: a citation must not change it.
      event.preventDefault();
      hold();
      setLink(found);
    };
    const listening = new AbortController();
    const { signal } = listening;
    element.addEventListener('pointerover', (event) => event.pointerType === 'mouse' && show(event), {
      signal,
    });
    element.addEventListener('pointerout', (event) => event.pointerType === 'mouse' && hide(event), {
      signal,
    });
    element.addEventListener('focusin', show, { signal });
    element.addEventListener('focusout', hide, { signal });
    element.addEventListener('click', press, { signal });
    return () => listening.abort();
  }, [root, hold, leave]);

  useEffect(() => {
    if (link === null) return;
    const listening = new AbortController();
    const { signal } = listening;
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && close();
    const onPress = (event: Event) => {
      const inside = event.target instanceof Element && event.target.closest('[data-citation-card]') !== null;
      if (!inside && citationAt(event) === undefined) close();
    };
    document.addEventListener('keydown', onKey, { signal });
    document.addEventListener('pointerdown', onPress, { signal });
    window.addEventListener('scroll', close, { signal, capture: true, passive: true });
    return () => listening.abort();
  }, [link, close]);

  return { link, hold, leave, close };
}

function citationAt(event: Event): HTMLAnchorElement | undefined {
  if (!(event.target instanceof Element)) return undefined;
  const found = event.target.closest('a');
  return found !== null && /^#(claim|doubt|source)-\d+$/.test(found.getAttribute('href') ?? '')
    ? found
    : undefined;
}
