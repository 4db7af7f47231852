import { type ReactNode, useEffect, useRef } from 'react';
import type { PagedList } from '../hooks/usePages.ts';
import { Button } from './Button.tsx';
import { ErrorState } from './ErrorState.tsx';
import { Skeleton } from './Skeleton.tsx';

interface PagedItemsProps<Item> {
  list: PagedList<Item>;
  /** What could not be loaded, when it could not: "The tasks could not be loaded." */
  failed: string;
  /** An EmptyState. */
  empty: ReactNode;
  children(items: readonly Item[]): ReactNode;
}

/** A list in all its states: loading, failed, empty, and page after page as one scrolls. */
export function PagedItems<Item>({ list, failed, empty, children }: PagedItemsProps<Item>) {
  const { items, error, reload } = list;
  return (
    <>
      {error && (
        <div className="p-4">
          <ErrorState
            what={failed}
            why={error.message}
            todo={error.advice}
            action={
              <Button size="small" onClick={reload}>
                Try again
              </Button>
            }
          />
        </div>
      )}
      {items === undefined && !error && <Skeleton className="p-4" />}
      {items !== undefined && (items.length === 0 ? empty : children(items))}
      {list.hasMore && items !== undefined && <More list={list} />}
    </>
  );
}

// Loads on when it comes into view; the button is for those who do not scroll.
function More<Item>({ list: { loading, more } }: { list: PagedList<Item> }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (loading || place.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && more(), {
      rootMargin: '200px',
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [loading, more]);
  return (
    <div ref={place} className="flex justify-center p-3">
      {/* Not disabled meanwhile: who presses it by keyboard would lose their place. */}
      <Button size="small" aria-busy={loading || undefined} onClick={() => loading || more()}>
        {loading ? 'Loading more' : 'Show more'}
      </Button>
    </div>
  );
}
