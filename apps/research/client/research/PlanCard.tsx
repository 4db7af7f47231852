import { Button, IconButton, Panel, useApi } from '@trunkline/ui';
import { ArrowDown, ArrowUp, Play, Plus, X } from 'lucide-react';
import { useState } from 'react';
import { newId } from '../lib/format.ts';
import { useAction } from '../lib/useAction.ts';
import type { JobHandle } from './useJob.ts';

interface Entry {
  key: string;
  name: string;
}

const MOST = 6;

/** The plan before it is carried out: edit, reorder, add, take out, start. */
export function PlanCard({ job, proposed }: { job: JobHandle; proposed: readonly string[] }) {
  const api = useApi();
  const { busy, run } = useAction('The research could not be started.');
  const [entries, setEntries] = useState<Entry[]>(() => proposed.map((name) => ({ key: newId(), name })));
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
          onClick={() => setEntries([...entries, { key: newId(), name: '' }])}
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
