import type { ReactNode } from 'react';
import { Lamp } from './Lamp.tsx';

interface ErrorStateProps {
  /** What failed: "The tasks could not be loaded." */
  what: string;
  /** Why, as far as it is known. */
  why: ReactNode;
  /** What to do. */
  todo: ReactNode;
  /** What to do, as a button. */
  action?: ReactNode;
}

/** What failed, why, and what to do. */
export function ErrorState({ what, why, todo, action }: ErrorStateProps) {
  return (
    <div role="alert" className="flex gap-3 rounded-corner bg-failed-wash p-4">
      <Lamp state="failed" dotOnly className="mt-0.5 self-start" />
      <div className="min-w-0 flex-1">
        <p className="font-semibold text-14">{what}</p>
        <p className="text-14 break-words">{why}</p>
        <p className="mt-1 text-14 text-ink">{todo}</p>
        {action && <div className="mt-3">{action}</div>}
      </div>
    </div>
  );
}
