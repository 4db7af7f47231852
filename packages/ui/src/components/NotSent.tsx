import { RotateCw } from 'lucide-react';
import { Button } from './Button.tsx';
import { Lamp } from './Lamp.tsx';

interface NotSentProps {
  /** Why, as far as it is known. */
  why?: string | undefined;
  busy?: boolean;
  onRetry(): void;
  /** Takes the message away; without it, it stays. */
  onDiscard?: (() => void) | undefined;
}

/** Stands at a message that did not reach the service. */
export function NotSent({ why, busy = false, onRetry, onDiscard }: NotSentProps) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Lamp state="failed" word="Not sent" />
      {why && <span className="min-w-0 break-words text-12 text-muted">{why}</span>}
      <Button size="small" icon={<RotateCw aria-hidden />} busy={busy} onClick={onRetry}>
        Retry
      </Button>
      {onDiscard && (
        <Button size="small" variant="quiet" disabled={busy} onClick={onDiscard}>
          Discard
        </Button>
      )}
    </div>
  );
}
