import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { copyText } from '../lib/copyText.ts';
import { IconButton } from './IconButton.tsx';

interface CopyButtonProps {
  value: string;
  /** What is copied, for the tooltip: "Copy the task id". */
  label: string;
  className?: string | undefined;
}

const SHOWN_MS = 2_000;

type Outcome = 'copied' | 'failed';

export function CopyButton({ value, label, className }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const words = outcome === 'copied' ? 'Copied' : 'Could not copy: select the text instead';
  return (
    <>
      <IconButton
        label={outcome === null ? label : words}
        icon={outcome === 'copied' ? <Check aria-hidden /> : <Copy aria-hidden />}
        onClick={async () => setOutcome((await copyText(value)) ? 'copied' : 'failed')}
        small
        className={className}
      />
      <span role="status" className="sr-only">
        {outcome && words}
      </span>
    </>
  );
}
