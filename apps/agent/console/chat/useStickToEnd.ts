import { type RefObject, useEffect, useRef } from 'react';

const NEAR_PX = 80;

/** Keeps the end of a scrolling part in view while it grows, unless the person has scrolled away from it. */
export function useStickToEnd(key: string): RefObject<HTMLDivElement | null> {
  const part = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another content begins at its end
  useEffect(() => {
    const element = part.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    let sticks = true;
    const toEnd = () => {
      if (sticks) element.scrollTop = element.scrollHeight;
    };
    let top = element.scrollTop;
    // Growing content leaves the end behind without a scroll; only a scroll upwards is the person's.
    const onScroll = () => {
      const near = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
      if (near) sticks = true;
      else if (element.scrollTop < top) sticks = false;
      top = element.scrollTop;
    };
    // Who opens something wants to read it, not to be taken away from it.
    const onClick = ({ target }: Event) => {
      if (target instanceof Element && target.closest('summary')) sticks = false;
    };
    const observer = new ResizeObserver(toEnd);
    observer.observe(content);
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('click', onClick);
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('click', onClick);
    };
  }, [key]);
  return part;
}
