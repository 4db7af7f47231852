import type { PostureView } from '@trunkline/std';
import { Lamp } from '../components/Lamp.tsx';
import { useResource } from '../hooks/useResource.ts';
import { stateLamp } from '../lib/states.ts';
import { useOperator } from '../operator/OperatorProvider.tsx';

type Finding = PostureView['findings'][number];

const ORDER: readonly Finding['state'][] = ['failed', 'warning', 'ok'];

export const POSTURE_LAMPS: Record<Finding['state'], ReturnType<typeof stateLamp>> = {
  failed: stateLamp('weak'),
  warning: stateLamp('warning'),
  ok: stateLamp('ok'),
};

export function worstFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((left, right) => ORDER.indexOf(left.state) - ORDER.indexOf(right.state));
}

/** The worst weak spot of the installation in one line, for the operator; nothing for others. */
export function PostureLine() {
  const { status } = useOperator();
  const isOperator = status.service !== undefined && (status.name === 'signed-in' || status.name === 'open');
  return isOperator ? <Worst /> : null;
}

function Worst() {
  const { body } = useResource<PostureView>('/operator/posture');
  if (body === undefined) return null;
  const [worst] = worstFirst(body.findings);
  const count = body.findings.filter(({ state }) => state !== 'ok').length;
  if (worst === undefined) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-12">
      <Lamp
        {...POSTURE_LAMPS[worst.state]}
        word={count === 0 ? 'No weak spot found' : `Weak spots: ${count}`}
      />
      {count > 0 && (
        <span className="min-w-0 flex-1 basis-48 break-words text-muted">{`${worst.subject}: ${worst.words}`}</span>
      )}
      <a
        href="/trust/posture"
        className="inline-flex min-h-6 items-center text-accent-text underline underline-offset-2"
      >
        {count === 0 ? 'What was looked at' : 'What to do'}
      </a>
    </p>
  );
}
