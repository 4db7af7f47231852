import { Fragment, type ReactNode, useEffect, useId, useRef } from 'react';
import type { ApiError } from '../api/api.ts';
import type { PagedList, Resource } from '../hooks/useResource.ts';
import { cn } from '../lib/cn.ts';
import { OPERATOR_REQUIRED } from '../operator/operatorApi.ts';
import { Button } from './Button.tsx';
import { EmptyState, ErrorState, Skeleton } from './EmptyState.tsx';

interface PanelProps {
  title: string;
  /** The title is only read aloud: for a panel that is all of its page or tab, which says the same above it. */
  hideTitle?: boolean | undefined;
  /** One sentence under the title. */
  detail?: ReactNode;
  /** At the right of the title: lamps, buttons. */
  actions?: ReactNode;
  /** The content brings its own padding, as lists and tables do. */
  flush?: boolean;
  className?: string;
  children: ReactNode;
}

/** A titled part of a page. */
export function Panel({
  title,
  hideTitle = false,
  detail,
  actions,
  flush = false,
  className,
  children,
}: PanelProps) {
  const id = useId();
  const heading = (
    <h2 id={id} className={hideTitle ? 'sr-only' : 'text-14'}>
      {title}
    </h2>
  );
  return (
    <section
      aria-labelledby={id}
      className={cn(
        '@container min-w-0 overflow-hidden rounded-corner border border-line bg-raised',
        className,
      )}
    >
      {hideTitle && !detail && !actions ? (
        heading
      ) : (
        <header className="flex min-h-13 flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2">
          <div className={cn('min-w-0 flex-1', detail && 'basis-56')}>
            {heading}
            {detail && <p className="text-12 text-muted">{detail}</p>}
          </div>
          {actions && <div className="flex items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={flush ? undefined : 'p-4'}>{children}</div>
    </section>
  );
}

interface ListPanelProps<Item> {
  title: string;
  hideTitle?: boolean | undefined;
  detail?: string;
  actions?: ReactNode;
  /** What the list holds, for the words of a failure: "the schedules". */
  what: string;
  list: PagedList<Item>;
  /** What to say, and to do, while there is nothing. */
  empty: { icon: ReactNode; title: string; next: string; action?: ReactNode };
  itemKey(item: Item, index: number): string | number;
  /** An <li>. */
  children(item: Item): ReactNode;
}

/** A panel with a list in all its states. */
export function ListPanel<Item>({ list, what, empty, itemKey, children, ...panel }: ListPanelProps<Item>) {
  return (
    <Panel {...panel} flush>
      <PagedItems list={list} failed={`Loading ${what} failed.`} empty={<EmptyState {...empty} />}>
        {(items) => (
          <ul>
            {items.map((item, index) => (
              <Fragment key={itemKey(item, index)}>{children(item)}</Fragment>
            ))}
          </ul>
        )}
      </PagedItems>
    </Panel>
  );
}

interface LoadedProps<Body> {
  resource: Resource<Body>;
  /** What could not be loaded, when it could not: "The board could not be loaded." */
  failed: string;
  /** How many rows of text to come. */
  rows?: number;
  children(body: Body): ReactNode;
}

/** Something the service holds in all its states; what is shown stays when loading it again fails. */
export function Loaded<Body>({ resource: { body, error }, failed, rows = 6, children }: LoadedProps<Body>) {
  return (
    <>
      {error && <LoadFailure what={failed} error={error} />}
      {body === undefined ? !error && <Skeleton rows={rows} /> : children(body)}
    </>
  );
}

/** Why something could not be loaded. What is for the operator is said once, by the banner at the top. */
export function LoadFailure({ what, error, action }: { what: string; error: ApiError; action?: ReactNode }) {
  if (error.code === OPERATOR_REQUIRED)
    return <p className="text-14 text-muted">Shown once you sign in as operator.</p>;
  return <ErrorState what={what} why={error.message} todo={error.advice} action={action} />;
}

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
          <LoadFailure
            what={failed}
            error={error}
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
