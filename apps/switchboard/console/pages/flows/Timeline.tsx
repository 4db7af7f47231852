import { Badge, CodeView, duration } from '@trunkline/ui';
import type { FlowDetails } from '../../../api-types.ts';
import { type Step, stepsOf } from './steps.ts';

/** Every step of a flow, with the time since it began. */
export function Timeline({ flow }: { flow: FlowDetails }) {
  return (
    <ol aria-label="Steps" className="flex flex-col">
      {stepsOf(flow.trace).map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
        <StepRow key={index} step={step} since={flow.createdAt} />
      ))}
    </ol>
  );
}

function StepRow({ step, since }: { step: Step; since: number }) {
  return (
    <li className="flex gap-3 border-line border-b px-4 py-2.5 last:border-b-0">
      <span className="w-16 shrink-0 pt-0.5 text-right font-mono text-12 text-muted">
        +{duration(Math.max(0, step.at - since))}
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Badge tone={step.tone}>{step.title}</Badge>
          <span className="min-w-0 break-words">{step.words}</span>
          {step.tookMs !== undefined && (
            <span className="font-mono text-12 text-muted">took {duration(step.tookMs)}</span>
          )}
        </p>
        {step.whole.length > 0 && (
          <details className="mt-1">
            <summary className="cursor-pointer text-12 text-accent-text">All of it</summary>
            <div className="mt-2 flex flex-col gap-2">
              {step.whole.map(({ title, code }) => (
                <CodeView key={title} title={title} code={code} wrap />
              ))}
            </div>
          </details>
        )}
      </div>
    </li>
  );
}
