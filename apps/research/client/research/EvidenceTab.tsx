import { EmptyState, Lamp, SwitchField } from '@trunkline/ui';
import { Scale } from 'lucide-react';
import { useState } from 'react';
import type { CitedSource, Claim } from '../../api-types.ts';
import { citationState, judgeText } from '../../citations/judge-words.ts';
import { SourceLink } from '../citations/SourceLink.tsx';
import { plural } from '../lib/format.ts';

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
          <span className="first-letter:uppercase">{judgeText(claim)}</span>
        )}
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
