import { Badge, IconButton } from '@trunkline/ui';
import { Settings2 } from 'lucide-react';
import type { CallState } from '../call/call.ts';

interface TopBarProps {
  state: CallState;
  /** Who answers. */
  skillName: string | undefined;
  open: boolean;
  onSettings(): void;
}

export function TopBar({ state, skillName, open, onSettings }: TopBarProps) {
  return (
    <header className="flex h-14 shrink-0 items-center gap-3 px-4">
      <h1 className="text-16">Voice</h1>
      {skillName !== undefined && <Badge>{skillName}</Badge>}
      <div className="ml-auto flex items-center gap-3">
        {state.phase === 'live' && <Latency state={state} />}
        <IconButton
          label="Settings"
          side="bottom"
          aria-expanded={open}
          icon={<Settings2 aria-hidden />}
          onClick={onSettings}
        />
      </div>
    </header>
  );
}

function Latency({ state: { exchange, roundTripMs } }: { state: CallState }) {
  const { latencyMs } = exchange;
  return (
    <dl className="flex gap-3 font-mono text-12 text-muted">
      {latencyMs !== undefined && (
        <Figure label="Answer" title="From your last word to the first of the answer" ms={latencyMs} />
      )}
      {roundTripMs !== undefined && <Figure label="Line" title="To the service and back" ms={roundTripMs} />}
    </dl>
  );
}

function Figure({ label, title, ms }: { label: string; title: string; ms: number }) {
  const words = ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
  return (
    <div className="flex gap-1" title={title}>
      <dt className="font-sans">{label}</dt>
      <dd className="text-ink">{words}</dd>
    </div>
  );
}
