import { ErrorState, Lamp, Progress } from '@trunkline/ui';
import { useMemo } from 'react';
import type { CitedSource } from '../../api-types.ts';
import { CitedText } from '../citations/CitedText.tsx';
import { SourceLink } from '../citations/SourceLink.tsx';
import { placeOf } from '../lib/format.ts';
import { type ChatMessage, citedBy, withoutSourceList } from './messages.ts';

const NO_SOURCES: CitedSource[] = [];

/** An answer as it comes, with the sources it cites. */
export function AnswerView({ message, isOpen }: { message: ChatMessage; isOpen: boolean }) {
  const { content, sources = NO_SOURCES, searches = [], troubles = [], error } = message;
  const text = useMemo(() => withoutSourceList(content), [content]);
  const search = searches.at(-1);
  return (
    <div className="flex flex-col gap-4" aria-busy={isOpen}>
      {isOpen && content === '' && (
        <Progress words={search === undefined ? 'Thinking' : `Read the results for “${search}”`} />
      )}
      {text !== '' && <CitedText text={text} claims={[]} sources={sources} streaming={isOpen} />}
      {error && <ErrorState what="The answer broke off." why={error} todo="Ask again, or ask otherwise." />}
      {sources.length > 0 && <SourceList sources={isOpen ? sources : citedBy(text, sources)} />}
      <NotSearched troubles={troubles.filter((trouble) => !content.includes(trouble))} />
    </div>
  );
}

/** What the answer does not rest on, as it could not be asked. */
function NotSearched({ troubles }: { troubles: readonly string[] }) {
  return troubles.map((trouble) => (
    <p key={trouble} className="flex items-start gap-2 text-12 text-muted">
      <Lamp state="waiting" word="Not searched" />
      <span className="min-w-0 break-words">{trouble}</span>
    </p>
  ));
}

function SourceList({ sources }: { sources: readonly CitedSource[] }) {
  return (
    <section aria-label="Sources">
      <ol className="grid gap-2 sm:grid-cols-2">
        {sources.map((source) => (
          <SourceCard key={source.url} source={source} />
        ))}
      </ol>
    </section>
  );
}

function SourceCard({ source: { number, title, url, snippet } }: { source: CitedSource }) {
  return (
    <li className="relative flex items-baseline gap-3 rounded-corner border border-line bg-raised px-3 py-2 transition-colors has-[a,button]:hover:border-edge">
      <span className="font-mono text-12 text-muted">{number}</span>
      <span className="min-w-0 flex-1">
        <span className="line-clamp-1 font-medium text-14 break-words">
          <SourceLink url={url} passage={snippet} className="after:absolute after:inset-0">
            {title}
          </SourceLink>
        </span>
        <span className="block truncate text-12 text-muted">{placeOf(url)}</span>
      </span>
    </li>
  );
}
