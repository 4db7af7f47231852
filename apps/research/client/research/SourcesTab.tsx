import { Badge, EmptyState, Lamp, type LampState } from '@trunkline/ui';
import { Library } from 'lucide-react';
import type { JobSource } from '../../api-types.ts';
import { SourceLink } from '../citations/SourceLink.tsx';
import { placeOf } from '../lib/format.ts';

/** Every source of a job: what was read, and why the others were not. */
export function SourcesTab({ sources }: { sources: readonly JobSource[] }) {
  if (sources.length === 0)
    return (
      <EmptyState
        icon={<Library aria-hidden />}
        title="No sources yet"
        next="They appear here as they are found."
      />
    );
  const order = (source: JobSource) => source.number ?? 1000 + source.id;
  const sorted = sources.toSorted((left, right) => order(left) - order(right));
  return (
    <ul className="overflow-hidden rounded-corner border border-line bg-raised">
      {sorted.map((source) => (
        <SourceRow key={source.id} source={source} />
      ))}
    </ul>
  );
}

function SourceRow({ source }: { source: JobSource }) {
  const { number, title, url, snippet, published, problem } = source;
  return (
    <li className="flex gap-4 border-line border-b p-4 last:border-b-0">
      <span className="w-6 shrink-0 text-right font-mono text-14 text-muted">{number ?? '–'}</span>
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="font-medium break-words">
          <SourceLink url={url} passage={snippet} className="underline-offset-2 hover:underline">
            {title}
          </SourceLink>
        </p>
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
          <span className="break-all">{placeOf(url)}</span>
          {published && <span>{published.slice(0, 10)}</span>}
          <Badge>{qualityWords(source.quality)}</Badge>
          <Lamp {...lampOf(source)} size="small" />
        </p>
        <p className="line-clamp-2 text-14 break-words text-muted">{problem ?? snippet}</p>
      </div>
    </li>
  );
}

function qualityWords(quality: number): string {
  if (quality >= 0.7) return 'Strong source';
  return quality >= 0.45 ? 'Fair source' : 'Weak source';
}

function lampOf({ state, duplicateOf, number }: JobSource): { state: LampState; word: string } {
  if (state === 'failed') return { state: 'failed', word: 'Could not be read' };
  if (state === 'duplicate' || duplicateOf !== null) return { state: 'idle', word: 'Copy of another' };
  if (state === 'found') return { state: 'waiting', word: 'Not read yet' };
  return number === null ? { state: 'idle', word: 'Read, not cited' } : { state: 'live', word: 'Cited' };
}
