import { Lamp, type LampState } from '@trunkline/ui';
import { placeOf, plural } from '../lib/format.ts';
import type { DimensionView, FoundSource } from './jobView.ts';

/** One card for each part of the research, filling with what it finds. */
export function DimensionCards({
  dimensions,
  running,
}: {
  dimensions: readonly DimensionView[];
  running: boolean;
}) {
  return (
    <ul className="grid gap-4 lg:grid-cols-2">
      {dimensions.map((dimension, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: dimensions keep their places
        <Card key={index} dimension={dimension} running={running} />
      ))}
    </ul>
  );
}

function Card({ dimension, running }: { dimension: DimensionView; running: boolean }) {
  const { name, sources, keyFinding, summary, state } = dimension;
  const lit = running && state === 'started';
  return (
    <li
      data-lit={lit || undefined}
      className="relative flex min-w-0 flex-col gap-3 overflow-hidden rounded-corner border border-line bg-raised p-4 data-lit:border-accent-strong"
    >
      <header className="flex flex-wrap items-start justify-between gap-x-3 gap-y-1">
        <h3 className="min-w-0 text-16 break-words">{name}</h3>
        <Lamp {...lampOf(dimension, running)} />
      </header>
      {state === 'done' && <p className="line-clamp-4 text-14 break-words">{keyFinding || summary}</p>}
      {sources.length > 0 && (
        <ul className="flex flex-col gap-1">
          {sources.map((source) => (
            <SourceRow key={source.url} source={source} />
          ))}
        </ul>
      )}
      {lit && sources.length === 0 && <p className="text-12 text-muted">Searching</p>}
    </li>
  );
}

function SourceRow({ source: { title, url } }: { source: FoundSource }) {
  const outside = /^https?:/.test(url);
  return (
    <li className="flex min-w-0 animate-appear items-baseline gap-2 text-12">
      {outside ? (
        <a
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          className="min-w-0 truncate underline decoration-line-strong underline-offset-2 hover:decoration-ink"
        >
          {title}
        </a>
      ) : (
        <span className="min-w-0 truncate">{title}</span>
      )}
      <span className="shrink-0 text-muted">{placeOf(url)}</span>
    </li>
  );
}

function lampOf({ state, sourceCount }: DimensionView, running: boolean): { state: LampState; word: string } {
  if (state === 'done')
    return sourceCount > 0
      ? { state: 'idle', word: `${plural(sourceCount, 'source')} read` }
      : { state: 'failed', word: 'Nothing found' };
  if (!running) return { state: 'idle', word: 'Not finished' };
  return state === 'started' ? { state: 'live', word: 'Researching' } : { state: 'waiting', word: 'Next' };
}
