import { Button, IconButton, Lamp, Panel, Progress, randomId, stateLamp, useApi } from '@trunkline/ui';
import { ArrowDown, ArrowUp, Check, Play, Plus, X } from 'lucide-react';
import { useState } from 'react';
import type { JobPhase, JobSnapshot } from '../../api-types.ts';
import { useAction } from '../lib/actions.ts';
import { placeOf, plural, titleOf } from '../lib/format.ts';
import type { DimensionView, FoundSource, JobHandle, JobView } from './useJob.ts';

const MOST = 6;

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
        <h2 className="min-w-0 text-16 break-words">{name}</h2>
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

function SourceRow({ source }: { source: FoundSource }) {
  const { url } = source;
  const title = titleOf(source);
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

function lampOf({ state, sourceCount }: DimensionView, running: boolean) {
  if (state === 'done')
    return sourceCount > 0
      ? stateLamp('done', `${plural(sourceCount, 'source')} read`)
      : stateLamp('failed', 'Nothing found');
  if (!running) return stateLamp('stopped', 'Not finished');
  return state === 'started' ? stateLamp('running', 'Researching') : stateLamp('queued', 'Next');
}

interface Entry {
  key: string;
  name: string;
}

/** The plan before it is carried out: edit, reorder, add, take out, start. */
export function PlanCard({ job, proposed }: { job: JobHandle; proposed: readonly string[] }) {
  const api = useApi();
  const { busy, run } = useAction('The research could not be started.');
  const [entries, setEntries] = useState<Entry[]>(() => proposed.map((name) => ({ key: randomId(), name })));
  const named = entries.map(({ name }) => name.trim()).filter(Boolean);
  const start = () =>
    run(async () => {
      await api.request(`/api/research/deep/${job.id}/plan`, { body: { dimensions: named } });
      job.follow();
    });
  return (
    <Panel
      title="The plan"
      detail="Each point is researched on its own, and becomes a part of the report."
      actions={
        <Button
          variant="primary"
          icon={<Play aria-hidden />}
          busy={busy}
          disabled={named.length === 0}
          onClick={start}
        >
          Start
        </Button>
      }
    >
      <ol className="flex flex-col gap-2">
        {entries.map((entry, index) => (
          <PlanRow
            key={entry.key}
            position={index + 1}
            count={entries.length}
            name={entry.name}
            onName={(name) => setEntries(entries.with(index, { ...entry, name }))}
            onMove={(by) => setEntries(moved(entries, index, by))}
            onRemove={() => setEntries(entries.filter((_, at) => at !== index))}
          />
        ))}
      </ol>
      {entries.length < MOST && (
        <Button
          size="small"
          variant="quiet"
          icon={<Plus aria-hidden />}
          className="mt-3"
          onClick={() => setEntries([...entries, { key: randomId(), name: '' }])}
        >
          Add a point
        </Button>
      )}
    </Panel>
  );
}

interface PlanRowProps {
  position: number;
  count: number;
  name: string;
  onName(name: string): void;
  onMove(by: -1 | 1): void;
  onRemove(): void;
}

function PlanRow({ position, count, name, onName, onMove, onRemove }: PlanRowProps) {
  return (
    <li className="flex items-center gap-1 rounded-corner border border-line bg-paper py-1 pr-1 pl-3 focus-within:border-edge">
      <span aria-hidden className="w-5 font-mono text-12 text-muted">
        {position}
      </span>
      <textarea
        rows={1}
        aria-label={`Point ${position}`}
        value={name}
        maxLength={300}
        // A point that was just added is empty: it wants to be written.
        // biome-ignore lint/a11y/noAutofocus: the user asked for this field a moment ago
        autoFocus={name === ''}
        placeholder="What should be found out?"
        onChange={(event) => onName(event.target.value.replaceAll('\n', ' '))}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.preventDefault();
          if (event.altKey && event.key === 'ArrowUp' && position > 1) onMove(-1);
          if (event.altKey && event.key === 'ArrowDown' && position < count) onMove(1);
        }}
        className="field-sizing-content min-h-8 min-w-0 flex-1 resize-none rounded-small bg-transparent py-1 text-14 outline-offset-0 placeholder:text-muted pointer-coarse:text-16"
      />
      <IconButton
        small
        label={`Move point ${position} up`}
        icon={<ArrowUp aria-hidden />}
        disabled={position === 1}
        onClick={() => onMove(-1)}
      />
      <IconButton
        small
        label={`Move point ${position} down`}
        icon={<ArrowDown aria-hidden />}
        disabled={position === count}
        onClick={() => onMove(1)}
      />
      <IconButton small label={`Take point ${position} out`} icon={<X aria-hidden />} onClick={onRemove} />
    </li>
  );
}

function moved(entries: readonly Entry[], index: number, by: -1 | 1): Entry[] {
  const all = [...entries];
  const [entry] = all.splice(index, 1);
  if (entry !== undefined) all.splice(index + by, 0, entry);
  return all;
}
