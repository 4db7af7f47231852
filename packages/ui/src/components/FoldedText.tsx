import { useState } from 'react';
import { cn } from '../lib/cn.ts';

const MOST_LINES = 6;
const MOST_CHARACTERS = 480;

interface FoldedTextProps {
  text: string;
  className?: string;
}

/** Plain text as it was written; what is long is folded to its first lines. */
export function FoldedText({ text, className }: FoldedTextProps) {
  const [open, setOpen] = useState(false);
  const isLong = text.length > MOST_CHARACTERS || text.split('\n', MOST_LINES + 1).length > MOST_LINES;
  return (
    <div className={className}>
      <p className={cn('whitespace-pre-wrap break-words', isLong && !open && 'line-clamp-3')}>{text}</p>
      {isLong && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="cursor-pointer text-12 text-accent-text underline underline-offset-2"
        >
          {open ? 'Show less' : 'Show all'}
        </button>
      )}
    </div>
  );
}
