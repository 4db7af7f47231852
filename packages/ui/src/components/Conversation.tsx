import { ChevronRight, RotateCw } from 'lucide-react';
import { Button } from './Button.tsx';
import { Lamp } from './Lamp.tsx';

interface SuggestionsProps {
  /** Read aloud; shown where `isShown`. */
  label: string;
  isShown?: boolean;
  texts: readonly string[];
  onChoose(text: string): void;
  className?: string;
}

/** What a person may say where nothing was said yet. */
export function Suggestions({ label, isShown = false, texts, onChoose, className = '' }: SuggestionsProps) {
  return (
    <ul className={`flex flex-wrap items-center gap-2 ${className}`} aria-label={label}>
      {isShown && (
        <li aria-hidden className="text-14 text-muted">
          {label}
        </li>
      )}
      {texts.map((text) => (
        <li key={text}>
          <Button size="small" onClick={() => onChoose(text)}>
            {text}
          </Button>
        </li>
      ))}
    </ul>
  );
}

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
