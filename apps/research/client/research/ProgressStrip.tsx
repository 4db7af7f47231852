import { Progress } from '@trunkline/ui';
import { Check } from 'lucide-react';
import type { JobPhase, JobSnapshot } from '../../api-types.ts';
import type { JobView } from './jobView.ts';

const PHASES: readonly { id: JobPhase; label: string }[] = [
  { id: 'scope', label: 'Plan' },
  { id: 'research', label: 'Research' },
  { id: 'evaluate', label: 'Look for gaps' },
  { id: 'synthesis', label: 'Write and check' },
];

/** Where the job is, and what it does now. */
export function ProgressStrip({ view, snapshot }: { view: JobView; snapshot: JobSnapshot | undefined }) {
  const stopping = snapshot?.status === 'cancelled';
  const words = stopping ? 'Stopping: what is being researched finishes first' : view.now;
  return (
    <section
      aria-label="Progress"
      className="flex flex-col gap-4 rounded-corner border border-line bg-raised p-4"
    >
      <ol className="flex flex-wrap gap-x-2 gap-y-2">
        {PHASES.map(({ id, label }, index) => (
          <Phase key={id} label={label} position={index} current={positionOf(view.phase)} />
        ))}
      </ol>
      <Progress words={words} value={shareDone(view)} />
    </section>
  );
}

function Phase({ label, position, current }: { label: string; position: number; current: number }) {
  const state = position < current ? 'done' : position === current ? 'now' : 'later';
  return (
    <li
      aria-current={state === 'now' ? 'step' : undefined}
      className="flex items-center gap-2 text-14 text-muted not-last:after:ml-1 not-last:after:h-px not-last:after:w-4 not-last:after:bg-line-strong sm:not-last:after:w-8 aria-[current=step]:font-medium aria-[current=step]:text-ink"
    >
      <span
        className={`inline-flex size-5 items-center justify-center rounded-full border font-mono text-12 ${LOOK[state]}`}
      >
        {state === 'done' ? <Check aria-label="Done:" className="size-3" /> : position + 1}
      </span>
      {label}
    </li>
  );
}

const LOOK = {
  done: 'border-live bg-live-wash text-live-text',
  now: 'border-accent-strong bg-accent text-accent-ink',
  later: 'border-line-strong',
};

function positionOf(phase: JobPhase): number {
  const found = PHASES.findIndex(({ id }) => id === phase);
  return found === -1 ? PHASES.length : found;
}

/** A rough share: planning a tenth, research six tenths, the rest gaps and the report. */
function shareDone({ phase, dimensions }: JobView): number {
  if (phase === 'scope') return 0.05;
  if (phase === 'evaluate') return 0.75;
  if (phase === 'synthesis') return 0.85;
  if (phase === 'done') return 1;
  const steps = dimensions.map(({ state, sources }) => {
    if (state === 'done') return 1;
    return sources.length > 0 ? 0.5 : 0;
  });
  const sum = steps.reduce<number>((total, step) => total + step, 0);
  return 0.1 + 0.6 * (dimensions.length === 0 ? 0 : sum / dimensions.length);
}
