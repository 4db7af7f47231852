import { Lamp, RelativeTime } from '@trunkline/ui';
import type { JobView } from './jobView.ts';

/** All that happened, the newest first. */
export function ActivityTab({ activity }: Pick<JobView, 'activity'>) {
  const told = activity.filter(({ words }) => words !== '').toReversed();
  return (
    <ol className="overflow-hidden rounded-corner border border-line bg-raised">
      {told.map(({ id, at, words, kind }) => (
        <li
          key={id}
          className="flex items-baseline gap-3 border-line border-b px-4 py-2 text-14 last:border-b-0"
        >
          {kind === 'failed' && <Lamp state="failed" dotOnly className="self-center" />}
          <span className={`min-w-0 flex-1 break-words ${kind === 'source' ? 'text-muted' : ''}`}>
            {words}
          </span>
          <span className="shrink-0 text-12 text-muted">
            <RelativeTime at={at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
