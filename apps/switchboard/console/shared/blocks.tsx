// What several pages of the console are built from.
import {
  Button,
  hashRoute,
  ListPanel,
  LoadFailure,
  type PagedList,
  type Resource,
  Skeleton,
} from '@trunkline/ui';
import { ArrowLeft, type LucideIcon, Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Answer } from '../../api-types.ts';
import { useSend, useUndoLast } from './useList.ts';

const LINK = 'text-accent-text underline underline-offset-2';

interface ListProps<Item> {
  title: string;
  hideTitle?: boolean;
  detail?: string;
  /** What the list holds, for the words of a failure; the title in small letters when left out. */
  what?: string;
  list: PagedList<Item>;
  icon: LucideIcon;
  /** What to say, and what to do, while there is nothing. */
  empty: readonly [title: string, next: string, action?: ReactNode];
  actions?: ReactNode;
  itemKey?(item: Item): string | number;
  /** An <li>. */
  children(item: Item): ReactNode;
}

/** A panel with a list in all its states. */
export function List<Item extends object>({ title, what, icon, empty, itemKey, ...rest }: ListProps<Item>) {
  return (
    <>
      {rest.list.incomplete && (
        <p className="text-14 text-muted" role="status">
          Another switchboard does not answer: what only it knows is missing here.{' '}
          <a className={LINK} href={hashRoute('nodes')}>
            Look at the nodes
          </a>
        </p>
      )}
      <ListPanel
        {...rest}
        title={title}
        what={what ?? `the ${title.toLowerCase()}`}
        empty={emptyState(icon, empty)}
        itemKey={itemKey ?? keyOf}
      />
    </>
  );
}

function emptyState(Icon: LucideIcon, [title, next, action]: ListProps<unknown>['empty']) {
  return { icon: <Icon aria-hidden />, title, next, action };
}

function keyOf(item: { id?: string | number; name?: string }): string | number {
  return item.id ?? item.name ?? '';
}

interface LoadedProps<Data> {
  resource: Resource<Answer<Data>>;
  /** What is loaded, for the words of a failure: "The flow". */
  what: string;
  rows?: number;
  className?: string;
  children(data: Data): ReactNode;
}

/** One thing that the service holds: while it loads, when it cannot be loaded, and when it is there. */
export function Loaded<Data>({ resource: { body, error }, what, children, ...skeleton }: LoadedProps<Data>) {
  if (body !== undefined) return children(body.data);
  if (error) return <LoadFailure what={`${what} could not be loaded.`} error={error} />;
  return <Skeleton {...skeleton} />;
}

export function BackLink({ to, children }: { to: readonly string[]; children: ReactNode }) {
  return (
    <a className={`inline-flex items-center gap-1 ${LINK}`} href={hashRoute(...to)}>
      <ArrowLeft aria-hidden className="size-4" /> {children}
    </a>
  );
}

interface RemoveButtonProps {
  path: string;
  /** Names the entry in the log of changes, for the way back. */
  kind: string;
  name: string;
  onGone(): void;
}

export function RemoveButton({ path, kind, name, onGone }: RemoveButtonProps) {
  const remove = useRemove(path, kind, name);
  return (
    <Button icon={<Trash2 aria-hidden />} onClick={() => void remove().then((isGone) => isGone && onGone())}>
      Remove
    </Button>
  );
}

/** Removes an entry and offers the way back. Gives whether it is gone. */
export function useRemove(path: string, kind: string, name: string): () => Promise<boolean> {
  const send = useSend();
  const undoLast = useUndoLast();
  const undo = () => undoLast(kind, name);
  return () => send(path, { method: 'DELETE', title: `${name} is removed.`, undo });
}
