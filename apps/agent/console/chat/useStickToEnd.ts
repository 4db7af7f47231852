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
    const observer = new ResizeObserver(toEnd);
    observer.observe(content);
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [key]);
  return part;
}
