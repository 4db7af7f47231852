import { Button } from './Button.tsx';

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
