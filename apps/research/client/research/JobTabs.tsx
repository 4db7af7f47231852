import { Badge, EmptyState, Lamp, type LampState, RelativeTime, SwitchField } from '@trunkline/ui';
import { EyeOff, Library, Scale } from 'lucide-react';
import { useState } from 'react';
import type { CitedSource, Claim, JobSource } from '../../api-types.ts';
import { changeText, citationState, judgeText } from '../../citations/marks.ts';
import { SourceLink } from '../citations/CitedText.tsx';
import { placeOf, plural, titleOf } from '../lib/format.ts';
import type { JobView } from './useJob.ts';

interface EvidenceTabProps {
  claims: readonly Claim[];
  sources: readonly CitedSource[];
}

/** Each sentence of the report with the passage that it was checked against. */
export function EvidenceTab({ claims, sources }: EvidenceTabProps) {
  const [onlyDoubtful, setOnlyDoubtful] = useState(false);
  const doubtful = claims.filter(({ supported }) => !supported);
  const shown = onlyDoubtful ? doubtful : claims;
  if (claims.length === 0)
    return (
      <EmptyState
        icon={<Scale aria-hidden />}
        title="No evidence yet"
        next="When the report is written, each of its sentences stands here with the passage that bears it out."
      />
    );
  return (
    <div className="flex flex-col gap-4">
      <SwitchField
        label={`Only what is not supported (${doubtful.length})`}
        checked={onlyDoubtful}
        onChange={setOnlyDoubtful}
      />
      {shown.length === 0 && (
        <p className="text-14 text-muted">All {plural(claims.length, 'citation')} are supported.</p>
      )}
      <ol className="flex flex-col gap-3">
        {shown.map((claim) => (
          <ClaimCard
            key={`${claim.number} ${claim.sentence}`}
            claim={claim}
            source={sources.find(({ number }) => number === claim.number)}
          />
        ))}
      </ol>
    </div>
  );
}

const LAMPS = {
  supported: { state: 'live', word: 'Supported' },
  'not supported': { state: 'failed', word: 'Not supported' },
  'not checked': { state: 'waiting', word: 'Not checked' },
} as const;

function ClaimCard({ claim, source }: { claim: Claim; source: CitedSource | undefined }) {
  const { sentence, supported, reason, passage, number } = claim;
  return (
    <li className="flex flex-col gap-2 rounded-corner border border-line bg-raised p-4">
      <p className="font-medium break-words">{sentence}</p>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
        <Lamp {...LAMPS[citationState(claim)]} />
        {!supported && reason && <span className="first-letter:uppercase">{reason}</span>}
        {number !== null && claim.judge !== 'none' && (
          <span className="first-letter:uppercase">
            {judgeText(claim)}
            {claim.certain && ', sure'}
          </span>
        )}
        {claim.change && <span className="first-letter:uppercase">{changeText(claim)}</span>}
        {source && number !== null && (
          <span className="min-w-0 break-words">
            <span className="font-mono">{number}</span>{' '}
            <SourceLink url={source.url} passage={passage} className="underline underline-offset-2">
              {source.title}
            </SourceLink>
          </span>
        )}
      </p>
      {passage !== '' && (
        <blockquote className="border-accent border-l-2 pl-3 text-14 break-words text-muted">
          {passage}
        </blockquote>
      )}
    </li>
  );
}

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
  const { number, url, snippet, published, problem, hidden } = source;
  return (
    <li className="flex gap-4 border-line border-b p-4 last:border-b-0">
      <span className="w-6 shrink-0 text-right font-mono text-14 text-muted">{number ?? '–'}</span>
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="font-medium break-words">
          <SourceLink url={url} passage={snippet} className="underline-offset-2 hover:underline">
            {titleOf(source)}
          </SourceLink>
        </p>
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
          <span className="break-all">{placeOf(url)}</span>
          {published && <Published at={published} />}
          <Badge>{qualityWords(source.quality)}</Badge>
          <Lamp {...lampOf(source)} size="small" />
          {hidden > 0 && (
            <span className="inline-flex items-center gap-1" title="Text that no visitor of the page sees">
              <EyeOff aria-hidden className="size-3 shrink-0" />
              Hidden text left out: {plural(hidden, 'character')}
            </span>
          )}
        </p>
        <p className="line-clamp-2 text-14 break-words text-muted">{problem ?? snippet}</p>
      </div>
    </li>
  );
}

function Published({ at }: { at: string }) {
  return Number.isNaN(Date.parse(at)) ? (
    <span>{at}</span>
  ) : (
    <span>
      Published <RelativeTime at={at} />
    </span>
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
  return number === null ? { state: 'idle', word: 'Read, not cited' } : { state: 'done', word: 'Cited' };
}
