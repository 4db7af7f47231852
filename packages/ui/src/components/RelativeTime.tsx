import { useEffect, useState } from 'react';
import { exactTime, relativeTime, wordsLastMs } from '../lib/relativeTime.ts';
import { Tooltip } from './Tooltip.tsx';

interface RelativeTimeProps {
  /** Milliseconds since 1970, or an ISO time. */
  at: number | string;
}

/** "5 minutes ago", kept up to date; the exact time on hover and focus. */
export function RelativeTime({ at }: RelativeTimeProps) {
  const moment = new Date(at).getTime();
  const now = useNow(moment);
  return (
    <Tooltip text={exactTime(moment)}>
      <time
        dateTime={new Date(moment).toISOString()}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the exact time must be within reach of the keyboard
        tabIndex={0}
        className="rounded-small whitespace-nowrap"
      >
        {relativeTime(moment, now)}
      </time>
    </Tooltip>
  );
}

// Renders again only when the words would change.
function useNow(moment: number): number {
  const [, setRound] = useState(0);
  const now = Date.now();
  useEffect(() => {
    const timer = setTimeout(() => setRound((round) => round + 1), wordsLastMs(moment, now));
    return () => clearTimeout(timer);
  }, [moment, now]);
  return now;
}
