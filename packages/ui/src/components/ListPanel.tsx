import { Fragment, type ReactNode } from 'react';
import type { PagedList } from '../hooks/usePages.ts';
import { EmptyState } from './EmptyState.tsx';
import { PagedItems } from './PagedItems.tsx';
import { Panel } from './Panel.tsx';

interface ListPanelProps<Item> {
  title: string;
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
