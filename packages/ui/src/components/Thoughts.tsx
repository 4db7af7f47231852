import { ChevronRight } from 'lucide-react';

/** What a model thought before it answered; folded, for those who want to know. */
export function Thoughts({ text, live = false }: { text: string; live?: boolean }) {
  if (text.trim() === '') return null;
  return (
    <details className="group/thoughts max-w-reading text-14 text-muted">
      <summary className="flex min-h-8 w-fit cursor-pointer list-none items-center gap-2 rounded-corner pr-3 transition-colors hover:text-text">
        <ChevronRight
          aria-hidden
          className="size-4 shrink-0 transition-transform group-open/thoughts:rotate-90"
        />
        {live ? 'Thinking…' : 'Thoughts'}
      </summary>
      <p className="mt-1 ml-2 border-line border-l-2 pl-4 break-words whitespace-pre-wrap">{text.trim()}</p>
    </details>
  );
}
