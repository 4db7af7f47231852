import { IconButton, Line, RelativeTime } from '@trunkline/ui';
import { MessageSquareText, RotateCcw, Telescope } from 'lucide-react';
import type { JobSnapshot } from '../../api-types.ts';
import { judgesText } from '../../citations/judge-words.ts';
import { costWords, plural } from '../lib/format.ts';
import { hrefOf } from '../lib/route.ts';
import { useRunAgain } from '../lib/useRunAgain.ts';
import { lampOf } from '../research/JobHeader.tsx';
import type { WorkItem } from './useWork.ts';

/** Past work as lines that open it; what runs is lit. */
export function WorkList({ items }: { items: readonly WorkItem[] }) {
  return (
    <ul className="overflow-hidden rounded-corner border border-line bg-raised">
      {items.map((item) => (
        <Line
          key={`${item.kind}-${item.id}`}
          lead={item.kind === 'research' ? <Telescope aria-hidden /> : <MessageSquareText aria-hidden />}
          title={item.title}
          detail={
            item.kind === 'research' ? jobWords(item.job) : `Search, ${plural(item.messages, 'message')}`
          }
          lit={item.kind === 'research' && item.job.status === 'running' && item.job.awaiting === undefined}
          href={hrefOf({ name: item.kind, id: item.id })}
          trail={<Trail item={item} />}
        />
      ))}
    </ul>
  );
}

function Trail({ item }: { item: WorkItem }) {
  const { busy, runAgain } = useRunAgain();
  const isDone = item.kind === 'research' && item.job.status !== 'running';
  return (
    <>
      <RelativeTime at={item.at} />
      {isDone && (
        <IconButton
          small
          label="Run again"
          icon={<RotateCcw aria-hidden />}
          disabled={busy}
          onClick={() => runAgain(item.id)}
        />
      )}
    </>
  );
}

function jobWords(job: JobSnapshot): string {
  const { citations, sourceCount, costUsd } = job;
  return [
    lampOf(job).word,
    sourceCount > 0 ? plural(sourceCount, 'source') : '',
    citations ? `${citations.supported} of ${citations.total} citations supported` : '',
    citations ? judgesText(citations) : '',
    costUsd !== null && costUsd > 0 ? costWords(costUsd) : '',
  ]
    .filter(Boolean)
    .join(' · ');
}
