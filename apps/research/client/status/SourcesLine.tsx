import { Lamp } from '@trunkline/ui';
import type { SourceHealth } from '../../api-types.ts';
import { hrefOf } from '../lib/route.ts';
import { sourceLamp } from './sourceWords.ts';

/** Which sources answer, in one line below the box. */
export function SourcesLine({ sources }: { sources: readonly SourceHealth[] | undefined }) {
  if (sources === undefined || sources.length === 0) return null;
  return (
    <a
      href={hrefOf({ name: 'sources' })}
      aria-label="The health of the sources"
      className="flex flex-wrap gap-x-4 gap-y-1 self-start rounded-small px-2 py-1"
    >
      {sources.map((source) => (
        <Lamp
          key={source.name}
          size="small"
          state={sourceLamp(source).state}
          word={source.state === 'failing' ? `${source.title} fails` : source.title}
        />
      ))}
    </a>
  );
}
