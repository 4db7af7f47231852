import { Lamp, type LampState } from '@trunkline/ui';
import type { ToolStep } from '../call/exchange.ts';

const STATES: Record<ToolStep['state'], { lamp: LampState; word: string }> = {
  running: { lamp: 'waiting', word: 'Running' },
  done: { lamp: 'live', word: 'Done' },
  failed: { lamp: 'failed', word: 'Failed' },
};

/** One step of the tool timeline; what went in and came out is folded away. */
export function ToolLine({ step }: { step: ToolStep }) {
  const { lamp, word } = STATES[step.state];
  const seconds = step.endedAt === undefined ? undefined : (step.endedAt - step.startedAt) / 1000;
  return (
    <li data-tool={step.name} className="border-line-strong border-l-2 pl-3">
      <details>
        <summary className="flex cursor-pointer list-none items-center gap-2 text-14">
          <span className="min-w-0 truncate font-mono text-12">{step.name}</span>
          <Lamp state={lamp} word={word} size="small" />
          {seconds !== undefined && (
            <span className="font-mono text-12 text-muted">{seconds.toFixed(1)} s</span>
          )}
        </summary>
        <dl className="mt-1 flex flex-col gap-1 font-mono text-12 text-muted">
          {step.input !== '' && <Detail label="Asked" text={step.input} />}
          {step.result !== '' && <Detail label="Answer" text={step.result} />}
        </dl>
      </details>
    </li>
  );
}

function Detail({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <dt className="font-sans">{label}</dt>
      <dd className="max-h-40 overflow-y-auto break-words whitespace-pre-wrap text-ink">{text}</dd>
    </div>
  );
}
