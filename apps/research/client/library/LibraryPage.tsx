import { EmptyState, ErrorState, Skeleton } from '@trunkline/ui';
import { LibraryBig, Search } from 'lucide-react';
import { useDeferredValue, useState } from 'react';
import { PageFrame } from '../PageFrame.tsx';
import { useWork, WorkList } from './WorkList.tsx';

const SHOWN = 100;

/** All past work, found by its words. */
export function LibraryPage() {
  const [words, setWords] = useState('');
  const wanted = useDeferredValue(words.trim());
  const { items, isLoading, error } = useWork(wanted, SHOWN);
  return (
    <PageFrame
      title="Library"
      detail="All you asked and had researched. Open a piece to read it, ask about it, or run it again."
    >
      <div className="flex items-center gap-3 rounded-corner border border-edge bg-raised px-3 focus-within:border-accent-strong">
        <Search aria-hidden className="size-4 text-muted" />
        <input
          type="search"
          aria-label="Search the library"
          value={words}
          maxLength={200}
          placeholder="Words of the question, the answer or the report"
          onChange={(event) => setWords(event.target.value)}
          className="h-11 min-w-0 flex-1 bg-transparent text-16 outline-none placeholder:text-muted"
        />
      </div>
      {error && (
        <ErrorState what="The library could not be loaded." why={error.message} todo={error.advice} />
      )}
      {isLoading && !error && <Skeleton rows={5} />}
      {items.length > 0 && <WorkList items={items} />}
      {items.length === 0 && !isLoading && <Nothing wanted={wanted} />}
    </PageFrame>
  );
}

function Nothing({ wanted }: { wanted: string }) {
  return wanted === '' ? (
    <EmptyState
      icon={<LibraryBig aria-hidden />}
      title="Nothing here yet"
      next="What you ask and have researched is kept here."
    />
  ) : (
    <EmptyState
      icon={<Search aria-hidden />}
      title={`Nothing has “${wanted}”`}
      next="Try fewer or other words."
    />
  );
}
