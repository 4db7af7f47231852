import type { ReactNode } from 'react';

interface EmptyStateProps {
  icon?: ReactNode;
  /** What is not there yet: "No schedules yet". */
  title: string;
  /** The next step, in words. */
  next: ReactNode;
  /** The next step, as a button. */
  action?: ReactNode;
}

/** Nothing here yet, and what to do about it. */
export function EmptyState({ icon, title, next, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center gap-1 px-4 py-10 text-center">
      {icon && (
        <span className="mb-3 inline-flex size-12 items-center justify-center rounded-full border border-line-strong border-dashed text-muted [&_svg]:size-5">
          {icon}
        </span>
      )}
      <h3 className="text-16">{title}</h3>
      <p className="max-w-sm text-14 text-balance text-muted">{next}</p>
      {action && <div className="mt-4">{action}</div>}
    </div>
  );
}
