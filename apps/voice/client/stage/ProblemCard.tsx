import { Button, ErrorState } from '@trunkline/ui';
import type { Call } from '../call/call.ts';
import type { Problem } from '../call/problems.ts';

/** Why there is no call, and what to do. */
export function ProblemCard({ call, problem }: { call: Call; problem: Problem }) {
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
