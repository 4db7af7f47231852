import { Badge, Button, ErrorState, type HealthResource, IconButton, Lamp } from '@trunkline/ui';
import { Settings2, X } from 'lucide-react';
import { useState } from 'react';
import type { Call, CallState } from '../call/call.ts';
import type { Waiting } from '../call/line-wait.ts';
import type { Problem } from '../call/problems.ts';

interface TopBarProps {
  state: CallState;
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

/** A line about a degraded service; dismissed until it changes. */
export function ServiceNotice({ resource }: { resource: HealthResource }) {
  const [dismissed, setDismissed] = useState('');
  const notice = noticeOf(resource);
  const words = notice === undefined ? '' : `${notice.what} ${notice.todo}`;
  if (notice === undefined || words === dismissed) return null;
  return (
    <div
      role="status"
      className="mx-4 flex items-start gap-2 rounded-corner bg-waiting-wash py-1 pr-1 pl-3 text-14"
    >
      <Lamp state={notice.failed ? 'failed' : 'waiting'} dotOnly className="mt-1.5" />
      <p className="min-w-0 flex-1 py-1 break-words">
        <span className="font-medium">{notice.what}</span> {notice.todo}
      </p>
      <IconButton
        label="Dismiss"
        icon={<X aria-hidden />}
        small
        side="bottom"
        onClick={() => setDismissed(words)}
      />
    </div>
  );
}

interface Notice {
  failed: boolean;
  what: string;
  todo: string;
}

function noticeOf({ health, error }: HealthResource): Notice | undefined {
  if (error !== undefined) return { failed: true, what: 'The service does not answer.', todo: error.advice };
  if (health === undefined) return undefined;
  const parts = (health.missing ?? []).map(({ what, hint }) =>
    hint === undefined ? `${what}.` : `${what}: ${hint}`,
  );
  // The banner of the page tells of the model.
  if (health.state !== 'live' && health.model?.problem === undefined) {
    const todo = parts.length > 0 ? parts.join(' ') : 'Answers may be slow or fail until it has recovered.';
    return { failed: false, what: `The service is ${health.word.toLowerCase()}.`, todo };
  }
  const speech = health.facts.find(({ key }) => key === 'speech.warnings')?.value;
  if (speech === undefined || speech === 'none') return undefined;
  return { failed: false, what: 'Speech is not at its best.', todo: speech };
}

/** Why there is no call, and what to do. */
export function ProblemCard({
  call,
  problem,
  waiting,
}: {
  call: Call;
  problem: Problem;
  waiting: Waiting | undefined;
}) {
  if (waiting !== undefined) return <WaitingCard call={call} waiting={waiting} why={problem.why} />;
  return (
    <div className="w-full max-w-md text-left">
      <ErrorState
        what={problem.what}
        why={problem.why}
        todo={problem.todo}
        action={
          <div className="flex flex-wrap gap-2">
            <Button size="small" variant="primary" onClick={() => void call.start()}>
              {problem.code === 'no-key' ? 'Enter a key' : 'Try again'}
            </Button>
            {problem.code === 'lines-busy' && (
              <Button size="small" onClick={() => call.waitForLine()}>
                Call me back
              </Button>
            )}
            {problem.canType && (
              <Button size="small" onClick={() => void call.start({ microphone: false })}>
                Type instead
              </Button>
            )}
            <Button size="small" variant="quiet" onClick={() => call.dismiss()}>
              Dismiss
            </Button>
          </div>
        }
      />
    </div>
  );
}

/** A caller waits for a line, or is called back. */
function WaitingCard({ call, waiting, why }: { call: Call; waiting: Waiting; why: string }) {
  const { ahead, ringing } = waiting;
  const before = ahead === 1 ? 'One caller comes before you.' : `${ahead} callers come before you.`;
  return (
    <div
      role="alert"
      className="flex w-full max-w-md flex-col gap-3 rounded-corner border border-line-strong bg-raised p-4 text-left text-14"
    >
      <p className="font-semibold">
        {ringing ? 'A line is free for you.' : 'Waiting for a line. Keep this page open: it rings.'}
      </p>
      {!ringing && <p className="text-muted">{ahead > 0 ? before : why}</p>}
      <div className="flex flex-wrap gap-2">
        {ringing && (
          <Button size="small" variant="primary" onClick={() => void call.start()}>
            Answer
          </Button>
        )}
        <Button size="small" variant="quiet" onClick={() => call.dismiss()}>
          {ringing ? 'Decline' : 'Stop waiting'}
        </Button>
      </div>
    </div>
  );
}
